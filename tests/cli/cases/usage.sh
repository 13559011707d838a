# SPDX-License-Identifier: Apache-2.0
# shellcheck source=common.sh
# Wrong requests: one line each, exit status 2; 1 when the request was right.
. "$CASES/common.sh"
t memhawk foo
t memhawk --foo
t memhawk help foo
t memhawk run
t memhawk run --
t memhawk run --foo
t memhawk run -Z
t memhawk run --depth
t memhawk run --depth 0 true
t memhawk run --depth=257 true
t memhawk run --depth=x true
t memhawk run --quiet=1 true
t memhawk run --follow '(' true
t memhawk run -i 0 true
t memhawk run -i 1s true
t memhawk run -i ' 100' true
t memhawk run -i +100 true
s 'memhawk run --follow "$(printf "a%.0s" {1..512})" true'
t memhawk run --unwind magic true
t memhawk report
t memhawk report a b
t memhawk report --top
t memhawk report --top -3 x
t memhawk report --top=1x x
t memhawk report --metric bytes x
t memhawk report --granularity file x
t memhawk report --at yesterday x
t memhawk report --from 2026-01-31T12:00:00 x
t memhawk report --to peak x
t memhawk report --format xml x
t memhawk report --at 1 --from 2 x
t memhawk report --filter '(' x
t memhawk report --follow -o x y
t memhawk report --follow --format json y
t memhawk report --follow --at 1 y
t memhawk report --sysroot nowhere x
t memhawk report --debug-dir nowhere x
t memhawk report -Fz x
t memhawk report $'no\nsuch\e[31mfile'
t memhawk report nofile
t memhawk report .
t memhawk report "$CASES/usage.sh"
t memhawk report /dev/null
s 'mkfifo pipe; memhawk report pipe; memhawk info pipe'
s ': >empty; memhawk report empty'
t memhawk info
t memhawk info a b
t memhawk info --yaml a
t memhawk info nofile
t symbolizer processor -f x
s 'memhawk >/dev/full'
s 'memhawk --version >/dev/full'
