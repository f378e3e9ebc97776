#!/usr/bin/env bash
# Prints the operations of a training step that "isobar bench step --json=FILE" measured, the longest first.
#
#   tools/step_table.sh FILE
set -euo pipefail
awk '
    /"median" :/ && !median { gsub(/[^0-9.eE+-]/, "", $3); median = $3 }
    /"operations" :/ { operations = 1 }
    /"facts" :/ { operations = 0 }
    operations && /"name" :/ { split($0, part, "\""); name = part[length(part) - 1] }
    operations && /"phase" :/ { split($0, part, "\""); phase = part[length(part) - 1] }
    operations && /"calls" :/ { calls = $3 + 0 }
    operations && /"flops" :/ { flops = $3 + 0 }
    operations && /"seconds" :/ {
        seconds = $3 + 0; sum += seconds; count++
        line[count] = sprintf("%-36s %-9s %5d %8.3f %9.2f", name, phase, calls, flops / 1e9, seconds * 1e3)
        time[count] = seconds
    }
    END {
        printf "step %.1f ms (median)\n", median * 1e3
        printf "%-36s %-9s %5s %8s %9s %6s\n", "operation", "phase", "calls", "GFLOP", "ms", "share"
        for (i = 1; i <= count; i++) {
            longest = 0
            for (j = 1; j <= count; j++) if (!(j in shown) && (!longest || time[j] > time[longest])) longest = j
            shown[longest] = 1
            printf "%s %5.1f%%\n", line[longest], 100 * time[longest] / sum
        }
    }' "$1"
