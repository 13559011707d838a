# SPDX-License-Identifier: Apache-2.0
# shellcheck source=common.sh
# What only a user other than root meets: file capabilities, a folder that is not theirs.
. "$CASES/common.sh"
[ "$(id -u)" = 0 ] || { echo "SKIP: not root, cannot change to another user"; exit 77; }
compile plain 'int main(void) { return 0; }' gcc
cp plain capable
setcap cap_net_raw+ep capable || { echo "SKIP: no file capabilities here"; exit 77; }
mkdir theirs
chmod 755 . .. ../bin
as_user() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
as_user test -x "$(readlink ../bin/memhawk)" || { echo "SKIP: the build is not readable"; exit 77; }
t as_user memhawk run -o /tmp -- ./capable
t as_user memhawk run -o theirs -- ./plain
t as_user memhawk run -o new -- ./plain
t setpriv --no-new-privs --reuid=65534 --regid=65534 --clear-groups memhawk run -q -o /tmp -- ./capable
rm -f /tmp/memhawk_capable_*
