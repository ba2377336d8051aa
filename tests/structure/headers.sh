# Every header compiles alone, and the public one also as C++.
. "$(dirname "$0")/lib.sh"
llvm=$( (llvm-config-19 --includedir || llvm-config-22 --includedir) 2>/dev/null)
for header in include/smelt.h $(find src bench tests -name '*.h' | sort); do
    if "$cc" -std=c17 -D_GNU_SOURCE -Wall -Wextra -Werror -Wno-unused-function -fsyntax-only -Iinclude -Isrc \
        ${llvm:+-isystem "$llvm"} -x c "$header"; then pass; else fail "$header does not compile alone"; fi
done
if command -v c++ >/dev/null 2>&1; then
    if c++ -std=c++11 -Wall -Wextra -Werror -fsyntax-only -x c++ include/smelt.h; then pass; else fail "smelt.h as C++"; fi
else
    skip "no C++ compiler"
fi
finish
