# SPDX-License-Identifier: Apache-2.0
# shellcheck source=common.sh
# Programs that cannot be profiled: the reason, the way out, 125; and the program does not run.
. "$CASES/common.sh"
main='#include <stdio.h>
int main(void) { puts("ran"); return 0; }'
compile plain "$main" gcc
compile static "$main" gcc -static
compile static_pie "$main" gcc -static-pie
compile musl "$main" musl-gcc
compile bits32 "$main" gcc -m32
compile asan "$main" gcc -fsanitize=address
compile tsan "$main" gcc -fsanitize=thread
compile asan_clang "$main" clang -fsanitize=address
compile object "$main" gcc -c
compile loader "$main" gcc -Wl,--dynamic-linker=/no/such/ld-linux.so.2
compile owner "$main
#include <stddef.h>
static char m[1 << 20]; static size_t used;
void *malloc(size_t n) { used += (n + 63) / 64 * 64; return m + used; }
void free(void *p) { (void)p; }" gcc -w
cp plain setuid_other && chown 1 setuid_other && chmod u+s setuid_other
cp plain setgid_other && chgrp 1 setgid_other && chmod g+s setgid_other
cp plain setuid_own && chmod u+s setuid_own
printf '#!%s\n' "$PWD/musl" >script_musl
printf '#!/no/such/interpreter\n' >script_none
printf '#!/usr/bin/env -S A=1 %s\n' "$PWD/static" >script_env
head -c 100 plain >cut
chmod +x script_* object cut
mkdir folder
: >data
for program in static static_pie musl bits32 asan tsan asan_clang object loader setuid_other \
    setgid_other script_musl script_none script_env cut folder data nothing; do
    t memhawk run -- ./$program
done
t memhawk run -- nothing
echo "--- these run"
t memhawk run -q -- ./setuid_own
t memhawk run -q -- ./owner
s 'memhawk run -- ./owner 2>&1 | grep warning'
s 'printf "echo ran: \$0 \$1\n" >text; chmod +x text; memhawk run -q -- ./text word'
t memhawk run -q -- /lib64/ld-linux-x86-64.so.2 ./plain
echo "--- the library and the folder"
t env MEMHAWK_LIB=/no/such/lib.so memhawk run -- ./plain
s 'mkdir "a b"; cp "$MEMHAWK_LIB" "a b/"; MEMHAWK_LIB="$PWD/a b/libmemhawk.so" memhawk run -- ./plain'
t memhawk run -o data -- ./plain
t memhawk run -o no/such/folder -- ./plain
