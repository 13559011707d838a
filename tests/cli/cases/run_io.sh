# SPDX-License-Identifier: Apache-2.0
# shellcheck source=common.sh
# The program cannot tell that the launcher is there, but for the variables.
. "$CASES/common.sh"
m() { memhawk run -q "$@"; }
same() { # NAME COMMAND...: the same output with and without
    local name=$1
    shift
    "$@" >alone 2>&1
    memhawk run -q -- "$@" >profiled 2>&1
    cmp alone profiled && echo "same: $name"
}
head -c 3000000 /dev/urandom >data
s 'm -- cat <data | cmp - data'
s 'm -- sh -c "cat >copy; echo out; echo err >&2" <data >out 2>err; cmp data copy; cat out err'
s 'echo line | m -- sh -c "read a; echo got \$a"; '
s 'printf "one\ntwo\n" | (m -- sh -c "read a; echo got \$a"; cat)'
s 'm -- sh -c "exec cat" <&-'
s 'm -- cat data | head -c 1 >/dev/null; echo "${PIPESTATUS[0]}"'
# the recorder's own file is open in the program; nothing else is
list='for fd in /proc/self/fd/*; do readlink "$fd"; done | grep -v _protobuf.binpb | wc -l'
same descriptors sh -c "$list" 5<data
same 'closed descriptors' sh -c "$list" 0<&-
# handlers are another matter: the recorder has some, to finish the file at a fatal signal
same 'signal mask and dispositions' grep -E '^Sig(Blk|Ign)' /proc/self/status
same 'ignored signals' sh -c 'trap "" INT TERM USR2 CHLD TSTP; exec grep -E "^Sig(Blk|Ign)" /proc/self/status'
(trap '' HUP CHLD; same 'inherited ignored signals' grep -E '^Sig(Blk|Ign)' /proc/self/status)
same limits sh -c 'ulimit -a'
same 'folder and umask' sh -c 'pwd; umask'
same 'process group' python3 -c 'import os; print(os.getpgrp(), os.getsid(0), os.nice(0))'
s 'diff <(env | sort) <(m -- env | sort) | grep -E "^[<>]" | grep -v "^[<>] _="'
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0 # of a sanitizer's build of memhawk
s 'LD_PRELOAD=libm.so.6 m -- env | grep LD_PRELOAD'
s 'm -i 250 --depth 7 --follow none --unwind fp -o sub -- env | grep ^MEMHAWK_ | grep -v LIB'
s 'MEMHAWK_OUTPUT=other MEMHAWK_DEPTH=5 m -- env | grep -E "^MEMHAWK_(OUTPUT|DEPTH)"'
