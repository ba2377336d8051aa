# Counting for the structure tests: pass WHAT, fail WHAT, skip WHY, finish. Sourced; sets $root, $build and $cc.
root=$1 build=$2 cc=$3
passed=0 failed=0 skipped=0
cd "$root" || exit 1
pass() { passed=$((passed + 1)); }
fail() { failed=$((failed + 1)); echo "FAILED: $*"; }
skip() { skipped=$((skipped + 1)); echo "skipped: $*"; }
finish() {
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ]
    exit
}
