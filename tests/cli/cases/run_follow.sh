# SPDX-License-Identifier: Apache-2.0
# shellcheck source=common.sh
# --follow: the program itself is profiled always, what it starts by fork and exec as asked.
# MEMHAWK_ROOT_PID tells the two apart. bash, because what /bin/sh is differs between systems.
. "$CASES/common.sh"

# Runs a command and shows whose profiles it left.
left() {
    local folder
    folder=$(mktemp -d profiles.XXXX)
    echo "\$ memhawk run $*"
    memhawk run -q -o "$folder" "$@" || echo "-> $?"
    for profile in "$folder"/*; do
        memhawk info --json "$profile" | python3 -c '
import json, sys
process = json.load(sys.stdin)["process"]
print("   ", process["name"], "by fork" if process["forked"] else "")'
    done | sort -u | sed 's/ *$//' # how many of its forks allocate is bash's business
}

program='/bin/true; /bin/ls >/dev/null; true'
left --follow none -- bash -c "$program"
left --follow '^ls$' -- bash -c "$program"
left --follow '^(true|ls)$' -- bash -c "$program"
left -- bash -c "$program"

# exec in place keeps the process, so what it becomes is the program itself
left --follow none -- bash -c 'exec ls >/dev/null'
# children of children
left --follow none -- bash -c 'bash -c "/bin/ls >/dev/null; true"; true'
left --follow '^ls$' -- bash -c 'bash -c "/bin/ls >/dev/null; true"; true'
# an inner run is a program of its own; an inherited value is not taken over
MEMHAWK_ROOT_PID=1 left --follow none -- bash -c '
    env -u LD_PRELOAD memhawk run -q --follow none -- ls >/dev/null; true'

echo "the variable is the pid of the program, and its descendants inherit it:"
memhawk run -q -- bash -c '[ $MEMHAWK_ROOT_PID = $$ ] && echo program
                           bash -c "[ \$MEMHAWK_ROOT_PID = $$ ] && echo child; true"'
