#!/bin/sh
# Calls make, having said what is missing if it or the compiler is. Of two calls that make the libraries at the same
# time, one waits: Maven builds the modules beside each other.
cd "$(dirname "$0")" || exit
for tool in make g++; do
    command -v "$tool" >/dev/null || {
        echo "cuda-sim: $tool is not on the PATH; the simulated CUDA machine is built with it." >&2
        echo "  Debian, Ubuntu: apt install g++ make    Fedora, RHEL: dnf install gcc-c++ make" >&2
        echo "  The program alone, without its tests, needs neither: ./isobar builds it." >&2
        exit 1
    }
done
set -- make --no-print-directory --jobs="$(nproc)" "$@"
case " $* " in
    *" libraries "*) mkdir -p target && exec flock --close target/make.lock "$@" ;;
    *) exec "$@" ;;
esac
