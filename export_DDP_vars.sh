# Source this in a Slurm job. It sets the variables of the job and of each rank, with PyTorch's names.
#
#   in the job's shell   (a batch script or salloc) it sets MASTER_ADDR, MASTER_PORT and a new secret, which srun passes
#                        to the tasks, and defines isobar_job for the submit scripts
#   in a task of srun    it sets RANK, LOCAL_RANK and WORLD_SIZE, and the task's threads and GPUs
#
# In salloc:
#
#   source export_DDP_vars.sh
#   srun --kill-on-bad-exit=1 bash -c 'source export_DDP_vars.sh && ./isobar train --config=mp --tensor_parallel=4'

isobar_tutorial_data=/pscratch/sd/s/shas1693/data/dl-at-scale-training-data

# Sets the rendezvous address and the secret by which tasks authenticate each other. The secret is a variable because
# other users can see the options of a process but not its environment. The port depends on the job and is below the
# range of ports that the system assigns itself.
isobar_meeting() {
    MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | sed -n 1p)
    MASTER_PORT=${MASTER_PORT:-$((20000 + SLURM_JOB_ID % 12000))}
    ISOBAR_JOB_SECRET=$(od -An -v -tx1 -N32 /dev/urandom | tr -d ' \n')
    export MASTER_ADDR MASTER_PORT ISOBAR_JOB_SECRET
}

# Sets the rank of this task and its share of the node.
isobar_rank() {
    local cores gpus
    export RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID WORLD_SIZE=$SLURM_NTASKS LOCAL_WORLD_SIZE
    LOCAL_WORLD_SIZE=$(isobar_tasks_of_node "${SLURM_NODEID:-0}" "$SLURM_STEP_TASKS_PER_NODE")
    cores=$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc) # nproc obeys these, which are often set to 1
    if [ "${SLURM_CPUS_PER_TASK:-$cores}" -lt "$cores" ]; then cores=$SLURM_CPUS_PER_TASK; fi
    export ISOBAR_THREADS=${ISOBAR_THREADS:-$cores}
    # The GPUs that Slurm assigns, else all, in reverse order: on Perlmutter, the cores that Slurm gives to the first
    # task of a node are closest to the last GPU.
    gpus=${CUDA_VISIBLE_DEVICES:-$(nvidia-smi -L 2>/dev/null | sed -n 's/^GPU \([0-9]*\):.*/\1/p' | paste -sd ,)}
    if [ -n "$gpus" ]; then CUDA_VISIBLE_DEVICES=$(tr , '\n' <<<"$gpus" | tac | paste -sd ,) && export CUDA_VISIBLE_DEVICES; fi
}

# isobar_tasks_of_node NODE LIST: the number of tasks on a node of the step, from 0, in a list such as "4(x2),3".
isobar_tasks_of_node() {
    local item after=0
    for item in ${2//,/ }; do
        if [[ $item =~ x([0-9]+) ]]; then after=$((after + BASH_REMATCH[1])); else after=$((after + 1)); fi
        if [ "$1" -lt "$after" ]; then break; fi
    done
    echo "${item%%[!0-9]*}"
}

# Sets `container` to the command prefix that runs a command in a container with image ISOBAR_IMAGE, by shifter or
# podman-hpc. It is empty without ISOBAR_IMAGE, or if that is none. The container mounts the data as /data and LOGDIR as
# /logs, which are the paths in the tutorial's presets. There is no default image: it would need CUDA 13.
isobar_container() {
    local item image=${ISOBAR_IMAGE:-none}
    local data=${DATADIR:-$isobar_tutorial_data}
    container=()
    if [ "$image" = none ]; then
        return
    elif command -v shifter >/dev/null; then
        container=(shifter "--image=$image" "--module=${ISOBAR_MODULES:-gpu,nccl-plugin}" -V "$LOGDIR:/logs")
        if [ -d "$data" ]; then container+=(-V "$data:/data"); fi
    elif command -v podman-hpc >/dev/null; then
        # Unlike shifter, podman-hpc passes no directories and variables unless told to. NAME_*: all with this prefix.
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
    else
        echo "ISOBAR_IMAGE=$image, but there is neither shifter nor podman-hpc on $(hostname). Unset it to run on the node." >&2
        return 2
    fi
}

# isobar_job COMMAND...: runs ./isobar COMMAND... in all tasks. The job's shell exits with the code of the task that
# failed first, because srun itself would report 143, the code of the other tasks, which Slurm then terminates. Code 75
# means that the tasks were asked to stop and saved a checkpoint; then the job is requeued.
isobar_job() {
    local code=0 rank container words
    unset CDPATH # with it, cd prints a directory, perhaps another one
    ISOBAR_HOME=$(cd "$ISOBAR_HOME" && pwd) || exit
    LOGDIR=${LOGDIR:-${SCRATCH:+$SCRATCH/dl-at-scale-training/}logs}
    mkdir -p "$LOGDIR" && LOGDIR=$(cd "$LOGDIR" && pwd) || exit
    ISOBAR_FAILURE=$LOGDIR/.failure-$SLURM_JOB_ID
    # HDF5 cannot lock files on every file system. NCCL on Slingshot needs libfabric's memory cache monitor userfaultfd.
    export ISOBAR_HOME LOGDIR ISOBAR_FAILURE NSYS_ARGS HDF5_USE_FILE_LOCKING=FALSE FI_MR_CACHE_MONITOR=userfaultfd
    rm -f "$ISOBAR_FAILURE"
    # A requeued job always resumes from its newest checkpoint: with the user's --resume it would start over each time.
    if [ "$1" = train ]; then
        words=("$@")
        if [ "${SLURM_RESTART_COUNT:-0}" -gt 0 ]; then isobar_without_resume "$@"; fi
        set -- "${words[@]}"
        if [[ " $*" != *" --resume"[=\ ]* ]]; then set -- "$@" --resume=auto; fi
    fi

    isobar_container || exit
    # Outside a container, the tutorial's directory replaces /data of the presets.
    if [ ${#container[@]} -eq 0 ] && [ -z "${DATADIR:-}" ] && [ -d "$isobar_tutorial_data" ]; then
        export DATADIR=$isobar_tutorial_data
    fi
    isobar_check "$@" || exit

    # Ignore SIGTERM here: when a job is cancelled, its tasks end first and this shell cleans up.
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

# isobar_check COMMAND...: before the tasks start, says in one line what COMMAND will compute on, or fails if its options
# are wrong or it cannot use the GPUs that were asked for. If the program must be built, this builds it, once. A shell of
# salloc may be on a machine without GPUs; then the check runs on a node of the job.
isobar_check() {
    local node=()
    if [ -z "${SLURMD_NODENAME:-}" ]; then node=(srun --nodes=1 --ntasks=1); fi
    RANK=0 LOCAL_RANK=0 WORLD_SIZE=${SLURM_NTASKS:-1} "${node[@]}" "${container[@]}" "$(isobar_program)" doctor "$@"
}

# The program in the tasks: ISOBAR_PROGRAM, for example that of an image, or the one in ISOBAR_HOME.
isobar_program() {
    echo "${ISOBAR_PROGRAM:-$ISOBAR_HOME/isobar}"
}

# Sets `words` to its arguments without --resume=X and --resume X, and without --set resume=X.
isobar_without_resume() {
    words=()
    while [ $# -gt 0 ]; do
        case $1 in
            --resume=* | --set=resume=*) ;;
            --resume) shift ;;
            --set) if [[ ${2:-} == resume=* ]]; then shift; else words+=("$1"); fi ;;
            *) words+=("$1") ;;
        esac
        shift
    done
}

# Requeues the job if its state in Slurm is RUNNING. The state is another after cancellation, after the time limit, and
# after a preemption that Slurm follows by requeueing the job itself.
isobar_requeue() {
    local job=$SLURM_JOB_ID
    # The id of one job of an array is also the id of the array.
    if [ -n "${SLURM_ARRAY_TASK_ID:-}" ]; then job=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID; fi
    if [ "$(squeue --noheader --jobs="$job" --format=%T)" != RUNNING ]; then
        echo "Interrupted; a checkpoint is saved. To go on, submit the job again, if Slurm has not requeued it." >&2
    elif (trap '' TERM && exec scontrol requeue "$job"); then # Slurm terminates the processes of the job at once
        echo "Interrupted; a checkpoint is saved, and job $job is requeued to go on from it." >&2
    else
        echo "Interrupted; a checkpoint is saved, but Slurm does not requeue this job. To go on, submit it again." >&2
    fi
}

# isobar_task COMMAND...: one task of isobar_job.
isobar_task() {
    local code=0 container profiler=()
    isobar_container || exit
    if [ "${ENABLE_PROFILING:-0}" = 1 ]; then isobar_profiler; fi
    # Slurm signals this shell as well as the program. The shell ignores it, to get the exit code of the program.
    trap : TERM HUP INT USR1 USR2
    "${container[@]}" "${profiler[@]}" "$(isobar_program)" "$@" || code=$?
    if [ "$code" -ne 0 ]; then
        # With noclobber, only the first task that fails can create the file.
        (set -o noclobber && echo "$RANK $code" >"$ISOBAR_FAILURE") 2>/dev/null
    fi
    exit "$code"
}

# Sets `profiler` to the command prefix of Nsight Systems, if it is installed. The profile is written to LOGDIR.
isobar_profiler() {
    local output=${PROFILE_OUTPUT:-profile}
    if "${container[@]}" bash -c 'command -v nsys' >/dev/null 2>&1; then
        # One file per task.
        if [ "$WORLD_SIZE" -gt 1 ]; then output+=-rank$RANK; fi
        profiler=(nsys profile --trace=cuda,cublas,nvtx ${NSYS_ARGS:-} --kill none -c cudaProfilerApi -f true
            -o "$LOGDIR/$output")
    elif [ "$RANK" -eq 0 ]; then
        echo "ENABLE_PROFILING=1, but there is no nsys (Nsight Systems) on the PATH: training without a profile." >&2
    fi
}

if [ -z "${SLURM_JOB_ID:-}" ]; then
    echo "export_DDP_vars.sh: this is not a Slurm job. Submit one with sbatch, or run without Slurm: ./isobar launch" >&2
    false
elif [ "${SLURM_STEP_ID:-4294967290}" -lt 4294967290 ]; then
    isobar_rank
else
    # Not a step, or one of the steps in which Slurm runs the shells of jobs.
    isobar_meeting
fi
