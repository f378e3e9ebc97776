# Source this in a Slurm job: it says who a process is and where the processes meet, in PyTorch's names.
#
#   in the job's shell   (a batch script or salloc) sets MASTER_ADDR, MASTER_PORT and a new secret, which srun hands to
#                        the tasks, and defines isobar_job, which the submit scripts share
#   in a task of srun    sets RANK, LOCAL_RANK and WORLD_SIZE, and the task's threads and GPUs
#
# In salloc:
#
#   source export_DDP_vars.sh
#   srun --kill-on-bad-exit=1 bash -c 'source export_DDP_vars.sh && ./isobar train --config=mp --tensor_parallel=4'

# Where the tasks meet, and what they know each other by: nobody else sees a variable, as everybody sees an option. The
# port differs from job to job, and lies below those that the system deals out itself.
isobar_meeting() {
    MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | sed -n 1p)
    MASTER_PORT=${MASTER_PORT:-$((20000 + SLURM_JOB_ID % 12000))}
    ISOBAR_JOB_SECRET=$(od -An -v -tx1 -N32 /dev/urandom | tr -d ' \n')
    export MASTER_ADDR MASTER_PORT ISOBAR_JOB_SECRET
}

# Who this task is, and its share of the node.
isobar_rank() {
    local cores gpus
    export RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID WORLD_SIZE=$SLURM_NTASKS
    export LOCAL_WORLD_SIZE=${SLURM_STEP_TASKS_PER_NODE%%[!0-9]*} # of "4(x2)"; on uneven nodes, the first one's
    cores=$(nproc)
    if [ "${SLURM_CPUS_PER_TASK:-$cores}" -lt "$cores" ]; then cores=$SLURM_CPUS_PER_TASK; fi
    export ISOBAR_THREADS=${ISOBAR_THREADS:-$cores}
    # The GPUs that Slurm names, else all, the last first: on Perlmutter, the cores that Slurm gives to a node's first
    # task are those next to the last GPU.
    gpus=${CUDA_VISIBLE_DEVICES:-$(nvidia-smi -L 2>/dev/null | sed -n 's/^GPU \([0-9]*\):.*/\1/p' | paste -sd ,)}
    if [ -n "$gpus" ]; then CUDA_VISIBLE_DEVICES=$(tr , '\n' <<<"$gpus" | tac | paste -sd ,) && export CUDA_VISIBLE_DEVICES; fi
}

# Sets `container` to the words that start one: the machine's own kind, with the image ISOBAR_IMAGE; to none if it has
# none, or ISOBAR_IMAGE=none. The data and LOGDIR are /data and /logs in it, where the tutorial's presets look for them.
isobar_container() {
    local item image=${ISOBAR_IMAGE:-nersc/pytorch:24.08.01}
    local data=${DATADIR:-/pscratch/sd/s/shas1693/data/dl-at-scale-training-data}
    container=()
    if [ "$image" = none ]; then
        return
    elif command -v shifter >/dev/null; then
        container=(shifter "--image=$image" "--module=${ISOBAR_MODULES:-gpu,nccl-plugin}" -V "$LOGDIR:/logs")
        if [ -d "$data" ]; then container+=(-V "$data:/data"); fi
    elif command -v podman-hpc >/dev/null; then
        # Unlike shifter, this passes on neither directories nor variables by itself; *: all that begin so.
        container=(podman-hpc run --rm --gpu --nccl --net=host --ipc=host -w "$PWD" -v "$LOGDIR:/logs")
        if [ -d "$data" ]; then container+=(-v "$data:/data"); fi
        while read -r item; do
            container+=(-v "$item:$item")
        done < <(printf '%s\n' "$HOME" "$PWD" "$ISOBAR_HOME" "$LOGDIR" "${DATADIR:-$HOME}" | sort -u)
        for item in HOME JAVA_HOME DATADIR LOGDIR RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE ENABLE_PROFILING PROFILE_OUTPUT \
            'CUDA_*' 'FI_*' 'HDF5_*' 'ISOBAR_*' 'MASTER_*' 'NCCL_*' 'NVIDIA_*' 'SLURM_*'; do
            container+=(-e "$item")
        done
        container+=("$image")
    fi
}

# isobar_job COMMAND...: runs ./isobar COMMAND... in all tasks. Ends the job's shell with the code of the task that
# failed first: Slurm then ends the others, and srun would report what became of those, 143. With 75 the tasks have saved
# a checkpoint because they were asked to end, and the job goes back into the queue.
isobar_job() {
    local code=0 rank container words
    ISOBAR_HOME=$(cd "$ISOBAR_HOME" && pwd) || exit
    LOGDIR=${LOGDIR:-${SCRATCH:+$SCRATCH/dl-at-scale-training/}logs}
    mkdir -p "$LOGDIR" && LOGDIR=$(cd "$LOGDIR" && pwd) || exit
    ISOBAR_FAILURE=$LOGDIR/.failure-$SLURM_JOB_ID
    # HDF5 cannot lock files on every file system. Of the ways in which libfabric learns that memory was given back,
    # userfaultfd is the one that NCCL on Slingshot gets on with.
    export ISOBAR_HOME LOGDIR ISOBAR_FAILURE NSYS_ARGS HDF5_USE_FILE_LOCKING=FALSE FI_MR_CACHE_MONITOR=userfaultfd
    rm -f "$ISOBAR_FAILURE"
    # A job that comes back goes on: it has begun already where its user said, and would begin there for ever.
    if [ "$1" = train ]; then
        words=("$@")
        if [ "${SLURM_RESTART_COUNT:-0}" -gt 0 ]; then isobar_without_resume "$@"; fi
        set -- "${words[@]}"
        if [[ " $*" != *" --resume"[=\ ]* ]]; then set -- "$@" --resume=auto; fi
    fi

    # Where a build is due, it is made here, instead of by the first task while the others wait.
    isobar_container
    "${container[@]}" "$ISOBAR_HOME/isobar" --version || exit

    # A cancelled job's tasks end before this shell, which tidies up.
    trap : TERM
    set -x
    srun --unbuffered --export=ALL --kill-on-bad-exit=1 ${SLURM_CPUS_PER_TASK:+--cpus-per-task="$SLURM_CPUS_PER_TASK"} \
        bash -c 'source "$ISOBAR_HOME/export_DDP_vars.sh" && isobar_task "$@"' task "$@" || code=$?
    { set +x; } 2>/dev/null
    if [ -s "$ISOBAR_FAILURE" ]; then
        read -r rank code <"$ISOBAR_FAILURE"
        rm -f "$ISOBAR_FAILURE"
        if [ "$code" -ne 75 ]; then echo "Rank $rank failed first, with code $code." >&2; fi
    fi
    if [ "$code" -eq 75 ]; then isobar_requeue; fi
    exit "$code"
}

# Sets `words` to its arguments without --resume=X and --resume X.
isobar_without_resume() {
    words=()
    while [ $# -gt 0 ]; do
        case $1 in
            --resume=*) ;;
            --resume) shift ;;
            *) words+=("$1") ;;
        esac
        shift
    done
}

# Puts the job back into the queue, if it still runs in Slurm's view: not one that was cancelled or has met its limit,
# and one that is preempted only while Slurm lets it end by itself, for then Slurm does not.
isobar_requeue() {
    if [ "$(squeue --noheader --jobs="$SLURM_JOB_ID" --format=%T)" != RUNNING ]; then
        echo "Interrupted; a checkpoint is saved. To go on, submit the job again, if Slurm has not requeued it." >&2
    elif (trap '' TERM && exec scontrol requeue "$SLURM_JOB_ID"); then # Slurm ends what runs in the job at once
        echo "Interrupted; a checkpoint is saved, and job $SLURM_JOB_ID is requeued to go on from it." >&2
    else
        echo "Interrupted; a checkpoint is saved, but Slurm does not requeue this job. To go on, submit it again." >&2
    fi
}

# isobar_task COMMAND...: one task of isobar_job.
isobar_task() {
    local code=0 container profiler=()
    isobar_container
    if [ "${ENABLE_PROFILING:-0}" = 1 ]; then isobar_profiler; fi
    # Slurm signals this shell as well as the program. It stays, to see what the program makes of it.
    trap : TERM INT USR1 USR2
    "${container[@]}" "${profiler[@]}" "$ISOBAR_HOME/isobar" "$@" || code=$?
    if [ "$code" -ne 0 ]; then
        # With noclobber, one task alone can make the file: the first that fails.
        (set -o noclobber && echo "$RANK $code" >"$ISOBAR_FAILURE") 2>/dev/null
    fi
    exit "$code"
}

# Sets `profiler` to the words that start Nsight Systems, if it is there. Its file appears in LOGDIR.
isobar_profiler() {
    local output=${PROFILE_OUTPUT:-profile}
    if "${container[@]}" bash -c 'command -v nsys' >/dev/null 2>&1; then
        # One file for each task, or they would overwrite each other's.
        if [ "$WORLD_SIZE" -gt 1 ]; then output+=-rank$RANK; fi
        profiler=(nsys profile --trace=cuda,cublas,nvtx ${NSYS_ARGS:-} --kill none -c cudaProfilerApi -f true
            -o "$LOGDIR/$output")
    elif [ "$RANK" -eq 0 ]; then
        echo "ENABLE_PROFILING=1, but there is no nsys (Nsight Systems) on the PATH: training without a profile." >&2
    fi
}

if [ -z "${SLURM_JOB_ID:-}" ]; then
    echo "export_DDP_vars.sh: this is no Slurm job. Submit one with sbatch, or do without Slurm: ./isobar launch" >&2
    false
elif [ "${SLURM_STEP_ID:-4294967290}" -lt 4294967290 ]; then
    isobar_rank
else
    # No step, or one of those by which Slurm starts the shells of jobs themselves.
    isobar_meeting
fi
