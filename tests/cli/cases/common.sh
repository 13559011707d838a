# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# For every case in bash: `. "$CASES/common.sh"`.
set -u
exec 2>&1

# Shows a command, runs it, and tells its exit status when it is not 0.
t() {
    local status=0
    echo "\$ $*"
    "$@" || status=$?
    [ $status = 0 ] || echo "-> $status"
}

# The same for a line with pipes and redirections.
s() {
    local status=0
    echo "\$ $1"
    eval "$1" || status=$?
    [ $status = 0 ] || echo "-> $status"
}

# Compiles a program: compile NAME 'SOURCE' COMPILER FLAGS...
compile() {
    local name=$1 source=$2
    shift 2
    echo "$source" >"$name.c"
    "$@" -o "$name" "$name.c" || {
        echo "SKIP: '$*' does not work here"
        exit 77
    }
}
