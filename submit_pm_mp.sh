#!/bin/bash
#SBATCH -C gpu
#SBATCH -q regular
#SBATCH -A dasrepo
#SBATCH --ntasks-per-node 4
#SBATCH --cpus-per-task 32
#SBATCH --gpus-per-node 4
#SBATCH --time=01:00:00
#SBATCH -J vit-era5-mp
#SBATCH -o %x-%j.out
#SBATCH --open-mode=append
#SBATCH --requeue
#SBATCH --signal=USR1@120

# Trains with model parallelism, on four GPUs of each node:
#
#   sbatch --nodes 1 submit_pm_mp.sh --config=mp --tensor_parallel=4
#   sbatch --nodes 4 submit_pm_mp.sh --config=mp --context_parallel=2 --tensor_parallel=2 --parallel_order=cp-tp-dp
#
# Submit from this directory, or set ISOBAR_HOME to it. Options of sbatch, or variables such as SBATCH_ACCOUNT, override
# the #SBATCH lines above. DATADIR, LOGDIR and ISOBAR_IMAGE (a container image) set the rest.
# Two minutes before its time limit, the job saves a checkpoint. Then it is requeued and resumes from the checkpoint.
ISOBAR_HOME=${ISOBAR_HOME:-${SLURM_SUBMIT_DIR:-.}}
source "$ISOBAR_HOME/export_DDP_vars.sh" || exit 2
NSYS_ARGS=--cuda-graph-trace=node
isobar_job train "$@"
