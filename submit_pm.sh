#!/bin/bash
#SBATCH -C gpu
#SBATCH -q shared
#SBATCH -A dasrepo
#SBATCH --cpus-per-task 32
#SBATCH --gpus-per-task 1
#SBATCH --gpu-bind none
#SBATCH --time=01:00:00
#SBATCH -J vit-era5
#SBATCH -o %x-%j.out
#SBATCH --open-mode=append
#SBATCH --requeue
#SBATCH --signal=USR1@120

# Trains on one GPU, or on as many of one node as there are tasks:
#
#   sbatch -n 1 -t 20 ./submit_pm.sh --config=short
#
# Submit from this directory, or set ISOBAR_HOME to it. What Slurm is told above is overridden by options of sbatch or
# by SBATCH_ACCOUNT and the like; DATADIR, LOGDIR and ISOBAR_IMAGE ("none" for no container) say the rest.
# Two minutes before its time is up, the job saves a checkpoint and is requeued, to go on from there.
ISOBAR_HOME=${ISOBAR_HOME:-${SLURM_SUBMIT_DIR:-.}}
source "$ISOBAR_HOME/export_DDP_vars.sh" || exit 2
isobar_job train "$@"
