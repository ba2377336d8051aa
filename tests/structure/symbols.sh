# What the libraries export: smelt_* and Adbc* from libsmelt.so, smelt_jit_init alone from libsmelt_jit.so; every
# global of smelt's own objects in libsmelt.a begins with smelt_ or sm_. libsmelt.so stays below 4 MB.
. "$(dirname "$0")/lib.sh"

exported() { nm -D --defined-only "$1" | awk '{print $3}' | sed 's/@.*//' | grep -vE '^SMELT_(JIT_)?[0-9]'; }

bad=$(exported "$build/libsmelt.so" | grep -vE '^(smelt_|Adbc)')
if [ -z "$bad" ]; then pass; else fail "libsmelt.so exports" $bad; fi
for name in $(sed -n 's/^SMELT_API .*[ *]\(smelt_[a-z0-9_]*\)(.*/\1/p' include/smelt.h); do
    if exported "$build/libsmelt.so" | grep -qx "$name"; then pass; else fail "libsmelt.so lacks $name"; fi
done

if [ -e "$build/libsmelt_jit.so" ]; then
    bad=$(exported "$build/libsmelt_jit.so" | grep -vx smelt_jit_init)
    if [ -z "$bad" ]; then pass; else fail "libsmelt_jit.so exports" $bad; fi
    bad=$(nm -D --undefined-only "$build/libsmelt_jit.so" | awk '{print $2}' | grep -E '^(smelt_|sm_)')
    if [ -z "$bad" ]; then pass; else fail "libsmelt_jit.so imports" $bad; fi
else
    skip "libsmelt_jit.so is not built"
fi

bad=$(nm -g --defined-only "$build/libsmelt.a" 2>/dev/null | awk 'NF == 3 {print $3}' | grep -vE '^(smelt_|sm_|Adbc)')
if [ -z "$bad" ]; then pass; else fail "libsmelt.a defines" $bad; fi

bytes=$(wc -c <"$build/libsmelt.so")
if [ "$bytes" -lt 4000000 ]; then pass; else fail "libsmelt.so has $bytes bytes"; fi
finish
