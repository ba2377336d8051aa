# Includes go down only: a folder sees itself and lower floors, never sideways on floor 3; llvm-c is seen by codegen
# alone, and the bench sees the public header alone.
. "$(dirname "$0")/lib.sh"

allowed() { # folders that a folder may include besides itself
    case $1 in
    runtime) echo "" ;;
    storage) echo "runtime" ;;
    plan) echo "runtime storage" ;;
    sql | interp | codegen) echo "runtime storage plan" ;;
    exec) echo "runtime storage plan sql interp codegen" ;;
    api) echo "runtime storage plan sql interp codegen exec" ;;
    esac
}

for file in $(find src -name '*.[ch]' -o -name '*.def' | sort); do
    folder=$(echo "$file" | cut -d/ -f2)
    bad=$(sed -n 's/^[ \t]*#[ \t]*include[ \t]*"\([^"]*\)".*/\1/p' "$file" | while read -r path; do
        case $path in
        smelt.h) continue ;;
        */*) target=${path%%/*} ;;
        *) continue ;; # beside the file
        esac
        case " $folder $(allowed "$folder") " in
        *" $target "*) ;;
        *) [ -e "$(dirname "$file")/$path" ] || echo "$path" ;;
        esac
    done)
    if grep -q '^[ \t]*#[ \t]*include[ \t]*[<"]llvm' "$file" && [ "$folder" != codegen ]; then bad="$bad llvm"; fi
    if [ -n "$bad" ]; then fail "$file includes" $bad; else pass; fi
done

for file in $(find bench tests/diff -name '*.[ch]'); do
    bad=$(sed -n 's/^[ \t]*#[ \t]*include[ \t]*"\([^"]*\)".*/\1/p' "$file" | while read -r path; do
        [ "$path" = smelt.h ] || [ -e "$(dirname "$file")/$path" ] || echo "$path"
    done)
    if [ -n "$bad" ]; then fail "$file includes" $bad; else pass; fi
done
finish
