# The example of README.md is true: its C text compiles without a warning, runs, and prints what the README says.
# The first ```c block is the program, the block after it its output.
. "$(dirname "$0")/lib.sh"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

awk -v dir="$dir" '
    /^```/ && !inside {inside = 1; n += seen_c || /^```c$/; seen_c = seen_c || /^```c$/; next}
    /^```/ {inside = 0; if (seen_c && n >= 2) exit; next}
    inside && seen_c && n == 1 {print > (dir "/example.c")}
    inside && seen_c && n == 2 {print > (dir "/expected")}' README.md

if [ ! -s "$dir/example.c" ]; then
    fail "README.md has no C example"
elif ! "$cc" -std=c17 -Wall -Wextra -Werror -Iinclude -o "$dir/example" "$dir/example.c" -L"$build" -lsmelt \
    -Wl,-rpath,"$build"; then
    fail "the example does not compile"
else
    pass
    if (cd "$dir" && ./example >actual 2>&1) && diff "$dir/expected" "$dir/actual"; then pass; else fail "the example prints something else"; fi
fi
lines=$(wc -l <"$dir/example.c")
if [ "$lines" -le 40 ]; then pass; else fail "the example has $lines lines"; fi
finish
