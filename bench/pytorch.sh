#!/usr/bin/env bash
# Takes the CPU training step that Isobar has measured with PyTorch, in the environment in which PyTorch is fastest.
#
#   bench/pytorch.sh step --like ISOBAR.json --json FILE [--rehearse]      PyTorch 2.13 (LibTorch from Maven Central)
#   bench/pytorch.sh --python PYTHON ARGUMENT...                           bench/vit_torch.py, by a PyTorch of Python's
#
# ISOBAR.json is what `isobar bench step --device=cpu --json=ISOBAR.json` wrote; FILE gets the same fields.
#
#   ISOBAR_JAVA   the java of a JDK 25 or newer (default: JAVA_HOME's, the PATH's or one in /usr/lib/jvm)
#   OPENBLAS      the OpenMP build of OpenBLAS (default: Debian's libopenblas0-openmp)
#   LD_PRELOAD, OMP_NUM_THREADS, MALLOC_*_THRESHOLD_ that are set already stay as they are.
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

# PyTorch's threads are OpenMP's. An OpenBLAS with threads of its own fights with them over the cores.
environment() {
    local openblas=${OPENBLAS:-/usr/lib/$(uname -m)-linux-gnu/openblas-openmp/libopenblas.so.0}
    if [ -z "${LD_PRELOAD:-}" ] && [ -r "$openblas" ]; then
        export LD_PRELOAD=$openblas
    fi
    # First what somebody has set for other programs. Debian 12's OpenBLAS takes AMD's cores with AVX-512 for others.
    unset OPENBLAS_CORETYPE OPENBLAS_NUM_THREADS OPENBLAS_L2_SIZE
    if grep -q AuthenticAMD /proc/cpuinfo && grep -qw avx512f /proc/cpuinfo; then
        OPENBLAS_CORETYPE=SkylakeX
        if grep -qw avx512_bf16 /proc/cpuinfo; then OPENBLAS_CORETYPE=Cooperlake; fi
        export OPENBLAS_CORETYPE
    fi
    export OMP_NUM_THREADS=${OMP_NUM_THREADS:-$(nproc)}
    # Memory that malloc gives back to the system is cleared each time that it is taken again.
    export MALLOC_MMAP_THRESHOLD_=${MALLOC_MMAP_THRESHOLD_:-1099511627776}
    export MALLOC_TRIM_THRESHOLD_=${MALLOC_TRIM_THRESHOLD_:-1099511627776}
}

# Sets jdk to the home of the first JDK that will do.
find_jdk() {
    local java home version
    for java in ${ISOBAR_JAVA:-"${JAVA_HOME:+$JAVA_HOME/bin/java}" "$(command -v java)" /usr/lib/jvm/*/bin/java}; do
        home=$(dirname "$(dirname "$(readlink -f "$java")")")
        [ -x "$home/bin/javac" ] && [ -r "$home/release" ] || continue
        version=$(sed -n 's/^JAVA_VERSION="\([0-9]*\).*/\1/p' "$home/release")
        if [ "${version:-0}" -ge "$oldest_java" ]; then
            jdk=$home
            return
        fi
    done
    fail "this needs a JDK $oldest_java or newer, and none was found; set ISOBAR_JAVA to its java."
}

stale() {
    local shared=$here/../app/src/main/java/org/isobar # of which the peer has some classes, too
    [ ! -f "$jar" ] || [ -n "$(find "$here/pom.xml" "$here/src/main" "$here/../pom.xml" "$shared/bench" "$shared/os" \
        "$shared/fault" -newer "$jar" -print -quit)" ]
}

# One of several first starts builds; the others wait at the lock and then find a build.
build() {
    command -v mvn >/dev/null || fail "the PyTorch peer must be built, and Maven (mvn) is not on the PATH."
    mkdir -p "$target"
    (
        flock 9
        stale || exit 0
        echo "pytorch: building with mvn -Pbench -pl bench package; the first time, Maven downloads 100 MB." >&2
        rm -f "$jar"
        cd "$here/.."
        output=$(JAVA_HOME=$jdk mvn -q -B -Pbench,program -pl bench package 2>&1 </dev/null) ||
            fail "the PyTorch peer cannot be built:" "$output"
    ) 9>"$target/build.lock"
}

if [ "${1:-}" = --python ]; then
    [ $# -gt 1 ] || fail "--python needs the name of a Python."
    environment
    exec "$2" "$here/vit_torch.py" "${@:3}"
fi
find_jdk
if stale; then build; fi
environment
# No library path: JavaCPP would take a PyTorch that the system has for its own.
exec "$jdk/bin/java" --enable-native-access=ALL-UNNAMED --sun-misc-unsafe-memory-access=allow -Xmx512m \
    -XX:+UseSerialGC -Djava.library.path= -Dorg.bytedeco.javacpp.nopointergc=true -Dorg.bytedeco.javacpp.maxbytes=0 \
    -Dorg.bytedeco.javacpp.maxphysicalbytes=0 "-Dorg.bytedeco.javacpp.cachedir=$target/javacpp" \
    -cp "$jar:$target/lib/*" org.isobar.bench.pytorch.PyTorchStep "$@"
