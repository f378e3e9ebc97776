#!/usr/bin/env bash
# Runs the laptop track of docs/tutorial: every block of commands that a chapter marks with "bash laptop", as it stands,
# in the order of the chapters, in the repository's directory.
#
#   tools/tutorial.sh            runs all blocks
#   tools/tutorial.sh 05 06-2    runs the blocks of a chapter, and one block
#   tools/tutorial.sh --list     prints all blocks
#
# A block ends at its first command that fails, or after its time (600 s, or "limit=SECONDS" in the block's first line).
# After it, the text that the chapter says one sees, "<!-- expects: REGEX -->", is searched in its output. The summary has
# a line for each block: chapter and number, seconds, and ok or what is wrong. Exit code 1 if a block failed.
# Outputs are in logs/tutorial/NN-K.log. A run that is there already is overwritten.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 2
work=logs/tutorial
mkdir -p "$work"
rm -f "$work"/[0-9]*.{sh,limit,expects}

# Writes NN-K.sh, NN-K.limit and NN-K.expects for each block of a chapter.
extract() { # FILE
    awk -v chapter="$(basename "$1" | cut -c1-2)" -v work="$work" '
        /^```bash laptop/ {
            inside = 1; number++; name = work "/" chapter "-" number
            limit = match($0, /limit=[0-9]+/) ? substr($0, RSTART + 6, RLENGTH - 6) : 600
            print limit > (name ".limit"); printf "" > (name ".expects"); printf "" > (name ".sh"); next
        }
        /^```/ { inside = 0 }
        inside { print > (name ".sh") }
        /^<!-- expects: .* -->$/ { sub(/^<!-- expects: /, ""); sub(/ -->$/, ""); print > (name ".expects") }
    ' "$1"
}

# Runs a block; prints ok, or what is wrong.
run() { # NAME
    timeout --kill-after=30 "$(cat "$1.limit")" bash -e -o pipefail "$1.sh" >"$1.log" 2>&1 </dev/null
    local code=$?
    if [ $code -eq 124 ] || [ $code -eq 137 ]; then echo "ran longer than $(cat "$1.limit") s"; return 1; fi
    if [ $code -ne 0 ]; then echo "exit code $code: $(tail -n 1 "$1.log")"; return 1; fi
    while IFS= read -r expected; do
        grep -qE -- "$expected" "$1.log" || { echo "not seen: $expected"; return 1; }
    done <"$1.expects"
    echo ok
}

selected=()
for argument in "$@"; do [ "$argument" = --list ] || selected+=("$argument"); done
for file in docs/tutorial/[0-9][0-9]-*.md; do extract "$file"; done
blocks=$(for block in $(ls "$work" | sed -n 's/\.sh$//p' | sort -V); do
    if [ ${#selected[@]} -eq 0 ] || [[ " ${selected[*]} " =~ \ (${block%%-*}|$block)\  ]]; then echo "$block"; fi
done)
if [ -z "$blocks" ]; then
    echo "tutorial.sh: the chapters have no block ${selected[*]}; --list shows all" >&2
    exit 2
fi
if [[ " $* " == *" --list "* ]]; then
    for block in $blocks; do echo "# $block"; cat "$work/$block.sh"; done
    exit 0
fi

status=0
begin=$SECONDS
summary="block    seconds  result"
for block in $blocks; do
    started=$SECONDS
    result=$(run "$work/$block") || status=1
    line=$(printf '%-8s %7d  %s' "$block" $((SECONDS - started)) "$result")
    echo "$line"
    summary+=$'\n'$line
done
printf '\n%s\nsum      %7d  %s\n' "$summary" $((SECONDS - begin)) "$(nproc) cores, $(date -u +%F)" |
    tee "$work/summary.txt"
exit $status
