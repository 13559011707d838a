# SPDX-License-Identifier: Apache-2.0
# shellcheck source=common.sh
# The exit status is the program's, as a shell tells it.
. "$CASES/common.sh"
for status in 0 1 2 77 125 126 127 255; do
    memhawk run -q -- sh -c "exit $status"
    echo "exit $status -> $?"
done
for signal in HUP INT QUIT ILL ABRT FPE KILL SEGV PIPE TERM USR1; do
    memhawk run -q -- sh -c "ulimit -c 0; kill -$signal \$\$"
    echo "SIG$signal -> $?, a shell says $((128 + $(kill -l $signal)))"
done
t memhawk run -q true
t memhawk run -q false
t memhawk run -q -- true --help
t memhawk run -q ls -d .
t memhawk run -q -- sh -c 'echo "$0 $*"' a 'b c' -q --
(trap '' CHLD; exec memhawk run -q -- sh -c 'exit 5')
echo "with SIGCHLD ignored -> $?"
