#!/usr/bin/env bash
# Measures the training step of Isobar and of the same model in PyTorch on this machine's GPU.
#
#   bench/gpu.sh [--rehearse] [--budget SECONDS] [DIR]
#
#   --rehearse   run everything with the sizes of preset tiny on the simulated machine, PyTorch on the CPU; no times
#   --budget     time limit of all parts together in seconds (default 470); parts that do not fit are skipped
#   DIR          directory for report.md, report.json, and the log and result of each part (default: bench-DATE)
#
#   ISOBAR       the launcher (default: the one in the parent directory)
#   PYTHON       a Python with PyTorch (default: the first of python3 and /usr/bin/python3 that has it)
#
# A failed part is listed in the report with its reason. The other parts still run, and the script exits with 1. Without
# PyTorch only Isobar is measured. docs/benchmarks/README.md explains the columns.
set -uo pipefail

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
isobar=${ISOBAR:-$here/../isobar}
command="$0 $*"
rehearse=()
budget=470
directory=bench-$(date +%Y%m%d-%H%M%S)
while [ $# -gt 0 ]; do
    case $1 in
        --rehearse) rehearse=(--rehearse) ;;
        --budget) shift; budget=${1:-} ;;
        -*) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
        *) directory=$1 ;;
    esac
    shift
done
[[ $budget =~ ^[0-9]+$ ]] || { echo "gpu.sh: --budget takes a number of seconds" >&2; exit 2; }
mkdir -p "$directory" || exit 2
directory=$(readlink -f "$directory")
[ -z "$(ls -A "$directory")" ] || { echo "gpu.sh: $directory is not empty; name a new directory" >&2; exit 2; }

if [ ${#rehearse[@]} -gt 0 ]; then
    settings=(tiny:bf16 tiny:none)
    sizes=(--copy_mb=1 --size=64)
    steps=(--warmup_steps=3 --steps=2 --local_batch_size=2)
    torch_device=cpu
    attentions=(fastest flash cudnn)
else
    settings=(base:bf16 mp:bf16 base:none base:fp16)
    sizes=(--copy_mb=2048 --size=8192)
    steps=(--warmup_steps=5 --steps=20 --local_batch_size=16)
    torch_device=cuda
    attentions=(flash cudnn)
fi
failed=0
export CUDA_DEVICE_ORDER=PCI_BUS_ID # numbers of GPUs as in nvidia-smi
gpu=${CUDA_VISIBLE_DEVICES:-0}
gpu=${gpu%%,*}

fact() { # KEY VALUE
    printf '%s\t%s\n' "$1" "$2" >>"$directory/facts.tsv"
}

record() { # PART RESULT SECONDS MIB REASON
    [ ${#rehearse[@]} -eq 0 ] || set -- "$1" "$2" - - "$5"
    printf '%s\t%s\t%s\t%s\t%s\n' "$@" >>"$directory/parts.tsv"
    printf '%-32s %s %s\n' "$1" "$2" "$5"
}

# Peak memory of the GPU according to nvidia-smi, in MiB.
peak() { # FILE
    sort -n "$1" 2>/dev/null | tail -1 | grep -x '[0-9]*' || echo -
}

last_line() { # LOG
    grep -v '^[[:space:]]*$' "$1" | grep -v '^WARNING' | tail -1 | tr -d '\t\r\n' | cut -c -300
}

# Why a part failed: its exit status and the last line of its log.
reason() { # STATUS LIMIT LOG
    if [ "$1" -eq 124 ] || [ "$1" -eq 137 ]; then
        echo "stopped at its time limit of $2 s"
    else
        printf 'status %s: %s' "$1" "$(last_line "$3")"
    fi
}

# Runs one part within its time limit and the budget; writes its output to PART.log. Exit status 3 is that of a program
# that does not have what is to be measured: vit_torch.py without a kernel of attention.
part() { # PART LIMIT COMMAND...
    local name=$1 limit=$2 left status start watcher=
    shift 2
    left=$((budget - SECONDS))
    if [ "$left" -lt 15 ]; then
        record "$name" skipped - - "the time budget of $budget s is spent; --budget gives more"
        return 1
    fi
    [ "$limit" -le "$left" ] || limit=$left
    if [ ${#rehearse[@]} -eq 0 ] && command -v nvidia-smi >/dev/null; then
        nvidia-smi -i "$gpu" --query-gpu=memory.used --format=csv,noheader,nounits -lms 200 >"$directory/$name.mib" 2>/dev/null &
        watcher=$!
    fi
    start=$SECONDS
    timeout -k 10 "$limit" "$@" >"$directory/$name.log" 2>&1
    status=$?
    [ -z "$watcher" ] || { kill "$watcher"; wait "$watcher"; } 2>/dev/null
    if [ $status -eq 0 ]; then
        record "$name" ok $((SECONDS - start)) "$(peak "$directory/$name.mib")" ""
    elif [ $status -eq 3 ]; then
        record "$name" skipped - - "$(last_line "$directory/$name.log")"
    else
        failed=1
        record "$name" failed $((SECONDS - start)) "$(peak "$directory/$name.mib")" "$(reason $status "$limit" "$directory/$name.log")"
    fi
    return $status
}

report() {
    "${on_gpu[@]}" "$isobar" bench report "$directory" >"$directory/report.log" 2>&1 || { cat "$directory/report.log" >&2; failed=1; }
}

# ---- what is installed ----

python=
usable='import torch; assert torch.cuda.is_available()'
[ ${#rehearse[@]} -eq 0 ] || usable='import torch'
absence="no python3 on this machine has a PyTorch that can use this device"
candidates=(python3 /usr/bin/python3)
[ -z "${PYTHON:-}" ] || candidates=("$PYTHON")
for candidate in "${candidates[@]}"; do
    if output=$("$candidate" -c "$usable" 2>&1); then
        python=$candidate
        break
    elif [ -n "${PYTHON:-}" ]; then
        absence="PYTHON=$PYTHON has no PyTorch that can use this device: ${output##*$'\n'}"
    fi
done

# CUDA libraries for Isobar: those of the system, else those of the PyTorch installation.
libraries=${LD_LIBRARY_PATH:-}
has_library() { # NAME
    local place
    # Not grep -q: it exits early, and then pipefail reports the SIGPIPE of ldconfig as a failure.
    PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null | grep -F "$1" >/dev/null && return
    local IFS=:
    for place in $libraries; do
        [ -e "$place/$1" ] && return
    done
    return 1
}
borrow_libraries() {
    local borrowed
    borrowed=$("$python" -c '
import glob, importlib.util
package = importlib.util.find_spec("nvidia")
for place in package.submodule_search_locations if package else []:
    print(*sorted(glob.glob(place + "/*/lib")), sep="\n")' 2>/dev/null | paste -sd:)
    [ -n "$borrowed" ] || return
    libraries=${libraries:+$libraries:}$borrowed
    fact "CUDA libraries" "from $borrowed"
}
fact date "$(date -u +%Y-%m-%dT%H:%M:%SZ)"
fact command "$command"
fact Isobar "$("$isobar" --version 2>/dev/null | paste -sd, | sed 's/,/, /g')"
fact CPU "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(nproc) cores"
if [ ${#rehearse[@]} -gt 0 ]; then
    fact GPU "none: rehearsal on the simulated machine, no times"
elif command -v nvidia-smi >/dev/null; then
    fact "GPU (name, driver, memory, power limit, highest clock)" \
        "$(nvidia-smi -i "$gpu" --query-gpu=name,driver_version,memory.total,power.limit,clocks.max.sm --format=csv,noheader 2>&1 | head -1)"
fi
if [ -n "$python" ]; then
    fact PyTorch "$("$python" -c 'import sys, torch; print(torch.__version__, "with CUDA", torch.version.cuda, "on Python", sys.version.split()[0])')"
else
    fact PyTorch "none: $absence"
fi
for library in libcudart.so.13 libcublas.so.13 libcublasLt.so.13 libnvrtc.so.13; do
    if ! has_library $library; then
        [ -z "$python" ] || borrow_libraries
        break
    fi
done
on_gpu=(env "LD_LIBRARY_PATH=$libraries")

# GPU, type, channels of a head, TFLOP/s forward and backward, as a model gives them: the second table of that section.
awk -F' *[|] *' '
    /^### / { section = $0 }
    section == "### Attention, modelled" && NF == 11 && $2 ~ /^`/ && $4 == "" {
        gsub("`", "", $2)
        printf "H100\t%s\t%s\t%s\t%s\nA100\t%s\t%s\t%s\t%s\n", $2, $3, $5, $7, $2, $3, $6, $8
    }' "$here/../docs/kernels.md" >"$directory/modelled.tsv"
# GPU, kernel, type, GB/s.
awk -F' *[|] *' '
    /^### / { section = $0 }
    section != "### Memory-bound kernels, modelled" { next }
    $2 == "kernel" { for (i = 1; i <= NF; i++) { if ($i == "H100, GB/s") h100 = i; if ($i == "A100, GB/s") a100 = i } }
    $2 ~ /^`/ && h100 && a100 {
        gsub("`", "", $2)
        gsub("`", "", $3)
        printf "H100\t%s\t%s\t%s\nA100\t%s\t%s\t%s\n", $2, $3, $h100, $2, $3, $a100
    }' "$here/../docs/kernels.md" >"$directory/modelled-memory.tsv"
for table in modelled modelled-memory; do
    [ -s "$directory/$table.tsv" ] || fact "modelled speeds" "$table.tsv is empty: docs/kernels.md has no table of them"
done

# ---- measuring ----

isobar_step() { # PRESET PRODUCTS PART OPTION...
    local preset=$1 products=$2 name=$3
    shift 3
    part "$name" 90 "${on_gpu[@]}" "$isobar" bench step --device=cuda --config="$preset" --amp_mode="$products" \
        --enable_fused --enable_jit "${steps[@]}" "${rehearse[@]}" --json="$directory/$name.json" "$@"
}

torch_part() { # LIKE MODE PART ARGUMENT...
    if [ -z "$python" ]; then
        record "$3" skipped - - "$absence"
    elif [ "$2" = compiled ] && ! "$python" -c 'import torch; torch.compile' 2>/dev/null; then
        record "$3" skipped - - "this PyTorch has no torch.compile"
    elif [ ! -e "$directory/$1.json" ]; then
        record "$3" skipped - - "$1 has no result to read the settings from"
    else
        part "$3" 150 "$python" "$here/vit_torch.py" "${@:4}" --device "$torch_device" --like "$directory/$1.json" \
            "${rehearse[@]}" --json "$directory/$3.json"
    fi
}

torch_step() { # LIKE MODE ATTENTION
    local part=${1%-isobar-1}-pytorch-$2
    [ "$3" = fastest ] || part=$part-$3
    torch_part "$1" "$2" "$part" step --mode "$2" --attention "$3"
}

if ! part verify 180 "${on_gpu[@]}" "$isobar" verify --device=cuda; then
    report
    echo "gpu.sh: isobar verify failed, so nothing is measured; see $directory/verify.log" >&2
    exit 1
fi
if [ ${#rehearse[@]} -eq 0 ] && grep -q '^Device: Simulated GPU' "$directory/verify.log"; then
    echo "gpu.sh: times of the simulated machine are meaningless; use --rehearse" >&2
    exit 2
fi
part ceilings-isobar 60 "${on_gpu[@]}" "$isobar" bench ceilings --device=cuda "${sizes[@]}" "${rehearse[@]}" \
    --json="$directory/ceilings-isobar.json"
if [ -n "$python" ]; then
    part ceilings-pytorch 60 "$python" "$here/vit_torch.py" ceilings --device "$torch_device" "${sizes[@]}" \
        "${rehearse[@]}" --json "$directory/ceilings-pytorch.json"
fi
# What is measured of each setting, in rounds, so that a short budget leaves out the last ones of all settings.
both_programs() { # PRESET PRODUCTS NAME
    isobar_step "$1" "$2" "$3-isobar-1"
    if [ "$2" = none ]; then
        torch_step "$3-isobar-1" eager fastest
    else
        for attention in "${attentions[@]}"; do
            torch_step "$3-isobar-1" eager "$attention"
        done
    fi
}
attention_alone() {
    [ "$2" = none ] || torch_part "$3-isobar-1" attention "attention-$1-$2" attention
}
graphs() {
    isobar_step "$1" "$2" "$3-isobar-graphs" --enable_cuda_graphs
}
compiled() {
    torch_step "$3-isobar-1" compiled fastest
}
once_more() {
    # Not in a rehearsal: heads of preset tiny have 12 channels, which cuDNN does not compute.
    if [ "$2" != none ] && [ ${#rehearse[@]} -eq 0 ] && { has_library libcudnn.so.9 || [ -n "${CUDNN_PATH:-}" ]; }; then
        isobar_step "$1" "$2" "$3-isobar-cudnn" --attention=cudnn
    fi
    isobar_step "$1" "$2" "$3-isobar-2"
}
for round in both_programs attention_alone graphs compiled once_more; do
    for setting in "${settings[@]}"; do
        $round "${setting%:*}" "${setting#*:}" "step-${setting%:*}-${setting#*:}"
    done
    report
done
sed -n -e '/^## Training steps/,/^## Ceilings/{/^## Ceilings/!p}' -e '/^## Operations/,/^## Parts/{/^## Parts/!p}' \
    "$directory/report.md"
echo "Full report: $directory/report.md"
exit $failed
