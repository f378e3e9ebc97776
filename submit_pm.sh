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

# Trains on one GPU, or on several GPUs of one node, one per task:
#
#   sbatch -n 1 -t 20 ./submit_pm.sh --config=short
#
# Submit from this directory, or set ISOBAR_HOME to it. Options of sbatch, or variables such as SBATCH_ACCOUNT, override
# the #SBATCH lines above. DATADIR, LOGDIR and ISOBAR_IMAGE (a container image) set the rest.
# Two minutes before its time limit, the job saves a checkpoint. Then it is requeued and resumes from the checkpoint.
ISOBAR_HOME=${ISOBAR_HOME:-${SLURM_SUBMIT_DIR:-.}}
source "$ISOBAR_HOME/export_DDP_vars.sh" || exit 2
isobar_job train "$@"
