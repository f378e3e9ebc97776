#!/bin/sh
# Calls make, having said what is missing if it or the compiler is.
cd "$(dirname "$0")" || exit
for tool in make g++; do
    command -v "$tool" >/dev/null || {
        echo "cuda-sim: $tool is not on the PATH; the simulated CUDA machine is built with it." >&2
        echo "  Debian, Ubuntu: apt install g++ make    Fedora, RHEL: dnf install gcc-c++ make" >&2
        echo "  The program alone, without its tests, needs neither: ./isobar builds it." >&2
        exit 1
    }
done
exec make --no-print-directory --jobs="$(nproc)" "$@"
