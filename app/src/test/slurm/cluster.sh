#!/usr/bin/env bash
# A throw-away Slurm cluster on this machine: lives until its standard input ends, and leaves nothing behind.
#
#   cluster.sh NODES DIR PORT      DIR: a new directory with a short path; PORT, PORT+1, ... PORT+NODES: free ports
#
# Prints "up" when jobs can be submitted, with SLURM_CONF=DIR/slurm.conf in the environment. Each virtual node
# (node1, node2, ...) has a host name of its own, 128 CPUs and 4 GPUs that are none. Nothing listens but on loopback.
# All daemons and jobs live in a PID namespace, which ends with its first process, this script: so none survives it,
# however it ends. Needs root, slurm-wlm and munge.
set -euo pipefail
nodes=$1
dir=$2
port=$3
PATH=$PATH:/usr/sbin:/sbin

if [ "${4:-}" != inside ]; then
    exec unshare --mount --propagation slave --pid --fork --kill-child --mount-proc "${BASH_SOURCE[0]}" "$@" inside
fi

umask 022
mkdir -p "$dir/state" "$dir/log"
export SLURM_CONF=$dir/slurm.conf
host=$(hostname -s)
names=$(seq -f 'node%g' "$nodes")

printf '127.0.0.1 %s\n' localhost "$host" $names >"$dir/hosts"
mount --bind "$dir/hosts" /etc/hosts

touch "$dir"/gpu{0,1,2,3}
echo "Name=gpu File=$dir/gpu[0-3]" >"$dir/gres.conf"
echo "CgroupAutomount=no" >"$dir/cgroup.conf"
cat >"$SLURM_CONF" <<CONF
ClusterName=throwaway
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
AuthType=auth/munge
# The second is also how long a job that was requeued waits before it is started again; 120 unless told otherwise.
AuthInfo=socket=$dir/munge.socket,cred_expire=5
CredType=cred/munge
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool.%n
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.%n.pid
SlurmctldLogFile=$dir/log/slurmctld
SlurmdLogFile=$dir/log/%n
# No cgroups, no accounting, no mail: what a container allows.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MailProg=/bin/true
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
GresTypes=gpu
KillWait=5
# Look often for what can start.
SchedulerParameters=sched_interval=1,sched_min_interval=100000,bf_interval=1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
MinJobAge=3600
CONF
for name in $names; do
    port=$((port + 1))
    echo "NodeName=$name NodeAddr=127.0.0.1 NodeHostname=$host Port=$port Gres=gpu:4 Features=gpu RealMemory=256000" \
        "CPUs=128 Boards=1 SocketsPerBoard=1 CoresPerSocket=64 ThreadsPerCore=2"
done >>"$SLURM_CONF"
# Jobs of the last take the nodes of the others', at once or after 60 seconds.
cat >>"$SLURM_CONF" <<CONF
PartitionName=regular Nodes=ALL MaxTime=INFINITE PriorityTier=1 Default=YES
PartitionName=graceful Nodes=ALL MaxTime=INFINITE PriorityTier=1 GraceTime=60
PartitionName=urgent Nodes=ALL MaxTime=INFINITE PriorityTier=2
CONF

(umask 077 && head -c 1024 /dev/urandom >"$dir/munge.key")
munged --foreground --force --key-file="$dir/munge.key" --socket="$dir/munge.socket" --pid-file="$dir/munged.pid" \
    --log-file="$dir/log/munged" --seed-file="$dir/munge.seed" </dev/null >"$dir/log/munged.out" 2>&1 &
slurmctld -D -i </dev/null >"$dir/log/slurmctld.out" 2>&1 &
for name in $names; do
    mkdir "$dir/spool.$name"
    unshare --uts bash -c 'hostname "$0" && exec slurmd -D -N "$0"' "$name" </dev/null >"$dir/log/$name.out" 2>&1 &
done

for ((tries = 0; tries < 200; tries++)); do
    if [ "$(sinfo -h -N -t idle -o %N 2>/dev/null | sort -u | wc -l)" = "$nodes" ]; then
        echo up
        exec cat >/dev/null
    fi
    sleep 0.1
done
echo "the cluster did not come up:" >&2
tail -n 5 "$dir"/log/* >&2
exit 1
