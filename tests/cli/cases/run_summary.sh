# SPDX-License-Identifier: Apache-2.0
# shellcheck source=common.sh
# Real runs: the summary and the report of a program whose every allocation is known.
. "$CASES/common.sh"
# keep: 100 blocks of 1,000 bytes for good; burst: 10 of 50,000 that are freed in order, so that only
# the last one has no allocation between it and its free. Peak 600,000, in all 600,000 in 110 calls.
known='#include <stdlib.h>
#include <unistd.h>
void *kept[100];
__attribute__((noinline)) void keep(void) { for (int i = 0; i < 100; i++) kept[i] = malloc(1000); }
__attribute__((noinline)) void burst(void) {
    void *p[10];
    for (int i = 0; i < 10; i++) p[i] = malloc(50000);
    for (int i = 0; i < 10; i++) free(p[i]);
}
int main(int argc, char **argv) {
    keep(); burst();
    if (argc > 1 && argv[1][0] == (char)102) { if (fork() == 0) { burst(); burst(); _exit(0); } sleep(1); }
    if (argc > 1 && argv[1][0] == (char)97) abort();
    return argc > 1 ? atoi(argv[1]) : 0;
}'
# What the start of a program is called depends on the debug symbols of libc.
norm() { sed -E '/_start|in libc|libc[-_]start/d; s/[0-9.]+ m?s( after the start|:)/TIME\1/'; }
compile known "$known" gcc -g -O1 -fno-optimize-sibling-calls -w
s 'memhawk run -- ./known 2>&1 | norm'
s 'ls; rm -f *.binpb'
s '(memhawk run -- ./known 7; echo "exit $?") 2>&1 | norm'
rm -f ./*.binpb
s '(ulimit -c 0; memhawk run -- ./known abort) 2>&1 | head -6'
rm -f ./*.binpb
echo "--- a child, and a shell that is replaced: two profiles of one pid"
s 'memhawk run -o out -- ./known fork 2>&1 | sed "/stack/,/^$/d"'
s 'memhawk run -o out2 -- sh -c "exec ./known" 2>&1 | sed "/stack/,/^$/d; s/[0-9.]* KiB  out2/SIZE  out2/"; ls out2'
s 'memhawk run -o out3 --follow none -- ./known fork 2>&1 | grep -c Also; ls out3'
echo "--- what the summary must not count: profiles that were there before"
s 'memhawk run -o out3 -- ./known 2>&1 | grep -c Also; ls out3 | wc -l'
t memhawk run -q -- ./known
s 'memhawk report memhawk_known_*.binpb | tail -n +3 | norm'
s 'memhawk report --inverted -g line -m total-count --at end memhawk_known_*.binpb | tail -n +8 | norm'
s 'memhawk report -f folded memhawk_known_*.binpb | sed "s/.*main/main/"'
s 'memhawk report -f json memhawk_known_*.binpb | python3 -c "
import json, sys
report = json.load(sys.stdin)
for stack in report[\"stacks\"]:
    print([f[\"function\"] for f in stack[\"frames\"]][:2], stack[\"live_bytes\"], stack[\"total_count\"])"'
s 'memhawk info memhawk_known_*.binpb | grep -E "^(allocations|live|losses|damage|end|settings)"'
s 'MEMHAWK_ENABLE=0 memhawk run -- ./known 2>&1 | tail -n +3 | norm'
echo "--- the last program of the process left nothing, or cannot be read"
compile still 'int main(void) { return 4; }' gcc -static
s 'memhawk run -o out4 -- sh -c "exec ./still" 2>&1 | grep -E "warning: .*exec|ended"'
# its profile is cut as on a full disk
s 'memhawk run -o out5 -- sh -c "./known; : >out5/memhawk_x_1_protobuf.binpb" 2>&1 | sed -n "/Also/,/^Next/p" | sed "s/[0-9.]* KiB  out/SIZE  out/"'
s 'memhawk run -o out6 -- sh -c "exec env sh -c \"exec ./known\"" 2>&1 | sed -n "/Also/,/^$/p" | grep -o "[0-9.]* KiB" | sort -crn && echo by peak'
s 'memhawk run -o out7 -- sh -c "kill -9 \$\$" 2>&1 | sed 1d'
s 'memhawk run -o out8 -- sh -c "sleep 3 & sleep 1" 2>&1 | grep -o "sleep.*running"'
echo "--- of a long command line 4 KiB are kept, which is said"
s 'memhawk run -q -o args -- /bin/echo $(seq 1 2000) >/dev/null; memhawk info args/*.binpb | grep -o "103[89] .*$"'
s 'memhawk run -q -o args2 -- /bin/echo $(printf "%04085d" 7) >/dev/null; memhawk info args2/*.binpb | grep -o "0007.*$"'
s 'memhawk run -q -o args3 -- /bin/echo $(printf "%04085d" 7) 8 >/dev/null; memhawk info args3/*.binpb | grep -o "0007.*$"'
echo "--- Next is a command for the shell"
export folder=$'it\'s\n"$x" \\'
s 'mkdir "$folder"; memhawk run -o "$folder" -- ./known 2>&1 | tail -n 1 >next; cat next; bash -c "$(sed "s/Next: //" next)" 2>&1 | head -1'
echo "--- the rows name functions of the program, not its allocator nor the library"
cat >wraps.cpp <<'END'
#include <cstdlib>
#define KEEP __attribute__((noinline, noclone))
namespace os { KEEP void *malloc(unsigned long size, int) { return std::malloc(size + 1); } }
namespace app { KEEP void *take(unsigned long size) { return os::malloc(size, 0); }
KEEP void fill() { static void *volatile kept; kept = take(9999); } }
int main() { app::fill(); }
END
s 'g++ -g -O1 -fno-optimize-sibling-calls -o wraps wraps.cpp && memhawk run -- ./wraps 2>&1 | grep -A2 "9.8 KiB  "'
s 'memhawk run -- ./known 2>/dev/full; echo $?'
s 'memhawk run -- ./known 2>&-; echo $?'
