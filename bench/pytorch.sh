#!/usr/bin/env bash
# Measures the CPU training step of Isobar's benchmark in PyTorch, in the environment in which PyTorch is fastest.
#
#   bench/pytorch.sh step --like ISOBAR.json --json FILE [--rehearse]      PyTorch 2.13 (LibTorch from Maven Central)
#   bench/pytorch.sh --python PYTHON ARGUMENT...                           bench/vit_torch.py with that Python
#
# ISOBAR.json is the output of `isobar bench step --device=cpu --json=ISOBAR.json`; FILE has the same format.
#
#   ISOBAR_JAVA   java of a JDK 25 or newer (default: from JAVA_HOME, the PATH or /usr/lib/jvm)
#   OPENBLAS      OpenMP build of OpenBLAS (default: Debian's libopenblas0-openmp)
# LD_PRELOAD, OMP_NUM_THREADS and MALLOC_*_THRESHOLD_ keep their values if they are set.
set -euo pipefail
shopt -s nullglob

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
target=$here/target
jar=$target/isobar-bench.jar
oldest_java=25

fail() { # LINE...
    printf 'pytorch: %s\n' "$1" >&2
    [ $# -eq 1 ] || printf '  %s\n' "${@:2}" >&2
    exit 2
}

# PyTorch uses OpenMP threads. The threads of another build of OpenBLAS would compete with them for the cores.
environment() {
    local openblas=${OPENBLAS:-/usr/lib/$(uname -m)-linux-gnu/openblas-openmp/libopenblas.so.0}
    if [ -z "${LD_PRELOAD:-}" ] && [ -r "$openblas" ]; then
        export LD_PRELOAD=$openblas
    elif [ -z "${LD_PRELOAD:-}" ]; then
        echo "pytorch: without an OpenMP build of OpenBLAS, PyTorch is several times slower: install" \
            "libopenblas0-openmp or set OPENBLAS." >&2
    fi
    # Drop settings for other programs. OpenBLAS of Debian 12 does not recognize AMD cores with AVX-512.
    unset OPENBLAS_CORETYPE OPENBLAS_NUM_THREADS OPENBLAS_L2_SIZE
    if grep -q AuthenticAMD /proc/cpuinfo && grep -qw avx512f /proc/cpuinfo; then
        OPENBLAS_CORETYPE=SkylakeX
        if grep -qw avx512_bf16 /proc/cpuinfo; then OPENBLAS_CORETYPE=Cooperlake; fi
        export OPENBLAS_CORETYPE
    fi
    export OMP_NUM_THREADS=${OMP_NUM_THREADS:-$(nproc)}
    # Keep memory in malloc: the system clears pages each time that they are allocated again.
    export MALLOC_MMAP_THRESHOLD_=${MALLOC_MMAP_THRESHOLD_:-1099511627776}
    export MALLOC_TRIM_THRESHOLD_=${MALLOC_TRIM_THRESHOLD_:-1099511627776}
}

# Sets jdk to the home of the first suitable JDK.
find_jdk() {
    local java home version
    local candidates=("${JAVA_HOME:+$JAVA_HOME/bin/java}" "$(command -v java)" /usr/lib/jvm/*/bin/java)
    if [ -n "${ISOBAR_JAVA:-}" ]; then candidates=("$ISOBAR_JAVA"); fi
    for java in "${candidates[@]}"; do
        home=$(dirname "$(dirname "$(readlink -f "$java")")")
        [ -x "$home/bin/javac" ] && [ -r "$home/release" ] || continue
        version=$(sed -n 's/^JAVA_VERSION="\([0-9]*\).*/\1/p' "$home/release")
        if [ "${version:-0}" -ge "$oldest_java" ]; then
            jdk=$home
            return
        fi
    done
    fail "no JDK $oldest_java or newer was found; set ISOBAR_JAVA to its java."
}

stale() {
    local shared=$here/../app/src/main/java/org/isobar # some classes of it are compiled into the jar
    [ ! -f "$jar" ] || [ -n "$(find "$here/pom.xml" "$here/src/main" "$here/../pom.xml" "$shared/bench" "$shared/os" \
        "$shared/fault" -newer "$jar" -print -quit)" ]
}

# If several processes start at once, one builds and the others wait at the lock.
build() {
    command -v mvn >/dev/null || fail "the PyTorch benchmark must be built, and Maven (mvn) is not on the PATH."
    mkdir -p "$target"
    (
        flock 9
        stale || exit 0
        echo "pytorch: building with mvn -Pbench -pl bench package; the first time, Maven downloads 100 MB." >&2
        rm -f "$jar"
        cd "$here/.."
        output=$(JAVA_HOME=$jdk mvn -q -B -Pbench,program -pl bench package 2>&1 </dev/null) ||
            fail "the PyTorch benchmark cannot be built:" "$output"
    ) 9>"$target/build.lock"
}

if [ "${1:-}" = --python ]; then
    [ $# -gt 1 ] || fail "--python needs the path of a Python."
    environment
    exec "$2" "$here/vit_torch.py" "${@:3}"
fi
find_jdk
if stale; then build; fi
environment
# Empty library path: else JavaCPP could load a PyTorch of the system instead of its own.
exec "$jdk/bin/java" --enable-native-access=ALL-UNNAMED --sun-misc-unsafe-memory-access=allow -Xmx512m \
    -XX:+UseSerialGC -Djava.library.path= -Dorg.bytedeco.javacpp.nopointergc=true -Dorg.bytedeco.javacpp.maxbytes=0 \
    -Dorg.bytedeco.javacpp.maxphysicalbytes=0 "-Dorg.bytedeco.javacpp.cachedir=$target/javacpp" \
    -cp "$jar:$target/lib/*" org.isobar.bench.pytorch.PyTorchStep "$@"
