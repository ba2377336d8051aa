#!/usr/bin/env bash
# Everything that a person does often, one verb each. `./do` alone lists them. What a verb needs is installed first.
set -euo pipefail
cd "$(dirname "$0")"

# The one list of Debian packages: what the build needs, then what single verbs add.
build_packages=(build-essential cmake ninja-build pkg-config llvm-19-dev libpg-query-dev libprotobuf-c-dev
                libutf8proc-dev libxxhash-dev libsimde-dev zlib1g-dev check)
format_packages=(clang-format)
lint_packages=(clang-tidy)
fuzz_packages=(clang)
profile_packages=(linux-perf)

usage() {
    cat <<'TEXT'
./do build [PRESET]     builds build/PRESET (default release)
./do bench              the ladder and a small TPC-H-like workload, on generated data
./do test               every test, and a fixed subset under the sanitizers
./do test quick [NAME]  the tests of the release build only, or those whose name contains NAME
./do test full          every test, also under the sanitizers, and more random expressions
./do format [--check]   formats the C files
./do lint               clang-tidy over the C files
./do fuzz [SECONDS]     libFuzzer on SQL text and CSV files
./do profile ARGS...    perf record of jit-bench ARGS
TEXT
}

need() {
    local missing=() p
    for p in "$@"; do
        dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing+=("$p")
    done
    [ ${#missing[@]} -eq 0 ] && return
    local sudo=""
    [ "$(id -u)" -eq 0 ] || sudo=sudo
    echo "installing: ${missing[*]}" >&2
    $sudo apt-get update -qq
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
}

build() { # preset [targets...]
    local preset=$1 log
    shift
    need "${build_packages[@]}"
    mkdir -p "build/$preset"
    log=build/$preset/build.log
    if ! { cmake --preset "$preset" && cmake --build "build/$preset" --parallel "$(nproc)" \
        ${1:+--target "$@"}; } >"$log" 2>&1; then
        grep -v '^\[' "$log" | tail -60 >&2
        echo "the build failed; all of it: $log" >&2
        return 1
    fi
}

# Runs the tests of one build directory and adds their counts to build/counts.
tests_of() { tests/run.sh "build/$1" "$2" "${3:-}" build/counts || true; }

run_tests() { # quick | normal | full, name
    local kind=$1 name=${2:-} preset
    rm -f build/counts
    build release
    if [ "$kind" = full ]; then export SMELT_TEST_FULL=1; fi
    tests_of release all "$name"
    if [ "$kind" != quick ]; then
        for preset in asan tsan; do
            build "$preset" smelt_tests
            tests_of "$preset" "$([ "$kind" = full ] && echo all || echo sanitized)" "$name"
        done
    fi
    awk '{p += $1; f += $2; s += $3}
         END {printf "%d passed, %d failed, %d skipped\n", p, f, s; exit f > 0 || p == 0}' build/counts
}

c_files() { git ls-files '*.c' '*.h'; }

verb=${1:-help}
[ $# -gt 0 ] && shift
case $verb in
build)
    build "${1:-release}"
    ;;
bench)
    build release
    build/release/jit-bench ladder "$@"
    build/release/jit-bench workload
    ;;
test)
    case ${1:-normal} in
    quick | normal | full) run_tests "${1:-normal}" "${2:-}" ;;
    *) usage; exit 2 ;;
    esac
    ;;
format)
    need "${format_packages[@]}"
    if [ "${1:-}" = --check ]; then
        c_files | xargs clang-format --dry-run --Werror
    else
        c_files | xargs clang-format -i
    fi
    ;;
lint)
    need "${lint_packages[@]}"
    build release
    git ls-files 'src/*.c' 'bench/*.c' | grep -v kernels_ | xargs -P "$(nproc)" -n 4 clang-tidy --quiet -p build/release
    ;;
fuzz)
    need "${fuzz_packages[@]}"
    build fuzz fuzz_sql fuzz_csv
    for f in sql csv; do
        mkdir -p "build/fuzz/corpus_$f"
        "build/fuzz/fuzz_$f" -max_total_time="${1:-60}" -rss_limit_mb=8192 -timeout=30 \
            -artifact_prefix="build/fuzz/crash_$f-" "build/fuzz/corpus_$f" "tests/fuzz/seeds_$f"
    done
    ;;
profile)
    need "${profile_packages[@]}"
    build profile jit-bench
    perf record -g -o build/perf.data build/profile/jit-bench "$@"
    perf report -i build/perf.data
    ;;
help | -h | --help)
    usage
    ;;
*)
    usage >&2
    exit 2
    ;;
esac
