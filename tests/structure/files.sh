# The house rules that a file can break: length, a README per folder, no leftovers, no paths of one machine.
. "$(dirname "$0")/lib.sh"

files=$(find include src bench tests docs do .ci CMakeLists.txt README.md -type f \
    \( -name '*.[ch]' -o -name '*.def' -o -name '*.sh' -o -name '*.txt' -o -name '*.md' -o -name do -o -name run \) |
    grep -v '^tests/data/' | sort)
for file in $files; do
    case $file in
    *.c | *.h | *.def | *.sh)
        lines=$(wc -l <"$file")
        if [ "$lines" -le 1200 ]; then pass; else fail "$file has $lines lines"; fi
        ;;
    esac
    case $file in
    tests/structure/files.sh) continue ;;
    esac
    bad=$(grep -nE '(^|[^A-Za-z0-9_.])/(home|root|work|Users)/|\b(TODO|FIXME|XXX)\b([^0-9]|$)' "$file" | head -3)
    if [ -z "$bad" ]; then pass; else fail "$file: $bad"; fi
done

for folder in src/* bench tests; do
    [ -d "$folder" ] || continue
    if [ -s "$folder/README.md" ]; then pass; else fail "$folder has no README.md"; fi
done
finish
