# SPDX-License-Identifier: Apache-2.0
# shellcheck source=common.sh
# Where a report goes: whole or not at all, never over the profile, never binary on a terminal.
. "$CASES/common.sh"
cp "$GOLDEN/published.binpb" p
umask 027
t memhawk report -f folded -o out p 2>/dev/null
s 'stat -c "%a" out; memhawk report -f folded p 2>/dev/null | cmp - out'
s 'echo old >old; memhawk report -f folded -o old p 2>/dev/null; cmp old out'
s 'echo old >target; ln -s target link; memhawk report -f folded -o link p 2>/dev/null; readlink link; cmp target out'
s 'memhawk report -f folded -o - p 2>/dev/null | cmp - out'
s 'memhawk report -f folded -o /dev/stdout p 2>/dev/null | cmp - out'
s 'mkfifo pipe; cmp pipe out & memhawk report -f folded -o pipe p 2>/dev/null; wait; test -p pipe'
t memhawk report -o p p
s 'ln p hard; memhawk report -o hard p'
t memhawk report -o no/such/out p
t memhawk report -o . p
s 'memhawk report -f folded -o /dev/full p 2>&1 | grep -v names'
s 'memhawk report -f folded p 2>/dev/null >/dev/full'
s 'memhawk report -f folded p 2>&1 >/dev/full | grep -v names'
s '(ulimit -f 0; trap "" XFSZ; memhawk report -f folded -o old p 2>&1 | grep -v names); cmp old out'
s 'ls | grep old'
s 'memhawk report p 2>/dev/null | head -0; echo "${PIPESTATUS[0]}" | grep -E "^(0|141)$" | wc -l'
s 'script -qec "memhawk report -f pprof p" /dev/null </dev/null | tr -d "\r"'
echo "--- colours only on a terminal, and not with NO_COLOR"
count() { tr -d '\r' | grep -c $'\033\\['; }
s 'NO_COLOR= memhawk report p 2>/dev/null | count'
s 'NO_COLOR=1 script -qec "memhawk report p" /dev/null </dev/null | count'
s 'NO_COLOR= TERM=dumb script -qec "memhawk report p" /dev/null </dev/null | count'
s 'test "$(NO_COLOR= script -qec "memhawk report p" /dev/null </dev/null | count)" -gt 0'
