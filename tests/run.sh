#!/usr/bin/env bash
# Runs the tests of a build directory, as many at once as there are CPUs, and adds one line
# "passed failed skipped" per test program to a counts file. Which programs there are is in BUILD/tests.list (made by
# tests/CMakeLists.txt): name <tab> sanitized|plain <tab> command.
#
#   tests/run.sh BUILD all|sanitized [NAME] COUNTS
#
# A program ends its output with "N passed, N failed, N skipped", or is a Check suite, whose last lines are
# "NN%: Checks: N, Failures: N, Errors: N". Its exit code must agree; a program that ends otherwise has failed.
set -uo pipefail
build=$1 selection=$2 name=$3 counts=$4
out=$build/test-output
mkdir -p "$out"

one() { # name command
    local log=$out/$1.log start end p f s rc line
    start=$(date +%s%N)
    ( cd "$build" && timeout --kill-after=10 "${SMELT_TEST_TIMEOUT:-900}" sh -c "$2" ) >"$log" 2>&1
    rc=$?
    end=$(date +%s%N)
    line=$(tail -n 5 "$log" | grep -aE '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' | tail -n 1)
    if [ -n "$line" ]; then
        read -r p _ f _ s _ <<<"$line"
    else
        read -r p f s <<<"$(awk -F'[:,] *' '/^[0-9]+%: Checks: / {c += $3; b += $5 + $7}
                               END {print c - b + 0, b + 0, 0}' "$log")"
    fi
    if [ "$rc" -ne 0 ] && [ "$f" -eq 0 ]; then f=1; fi
    if [ "$rc" -eq 0 ] && [ $((p + f + s)) -eq 0 ]; then f=1; echo "it ran no check" >>"$log"; fi
    printf '%d %d %d\n' "$p" "$f" "$s" >>"$counts"
    printf '%-6s %-34s %6d passed %4d failed %4d skipped  %5d ms\n' \
        "$([ "$f" -eq 0 ] && echo ok || echo FAILED)" "$(basename "$build")/$1" "$p" "$f" "$s" $(((end - start) / 1000000))
    grep -a '^skipped: ' "$log" | sort -u
    if [ "$f" -ne 0 ]; then
        echo "---- the end of $log (exit code $rc)"
        tail -n 40 "$log"
        echo "----"
    fi
    return 0
}
export -f one
export build out counts
export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_leaks=1:allocator_may_return_null=1}"
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1}"
export TSAN_OPTIONS="${TSAN_OPTIONS:-suppressions=$(cd "$(dirname "$0")" && pwd)/tsan.supp:halt_on_error=0:exitcode=66}"

awk -F'\t' -v sel="$selection" -v name="$name" \
    '(sel == "all" || $2 == sel) && (name == "" || index($1, name)) {printf "%s%c%s%c", $1, 0, $3, 0}' "$build/tests.list" |
    xargs -0 -P "$(nproc)" -n 2 bash -c 'one "$@"' one
