# SPDX-License-Identifier: Apache-2.0
# shellcheck source=common.sh
# `memhawk view` as a command: what it refuses, what it prints, how it stops; the server itself is
# tested by tests/web/test_view_server.py.
. "$CASES/common.sh"
unset DISPLAY WAYLAND_DISPLAY BROWSER
t memhawk view --help
t memhawk view --port x
t memhawk view --port 65536
t memhawk view --port -1
t memhawk view --port
t memhawk view --no-open=1
t memhawk view --listen
t memhawk view --sysroot nowhere
t memhawk view --foo
t memhawk view nofile
t memhawk view . nofolder/
echo text >text
: >empty
t memhawk view text
t memhawk view empty
t memhawk view --listen 192.0.2.1 .
t memhawk view --listen nowhere.invalid .
t memhawk view --listen '' .
t memhawk view --listen 1.2.3.4.5 .

# Starts it, and waits until it serves.
start() {
    rm -f out
    memhawk view "$@" >out 2>err &
    pid=$!
    until [ "$(grep -c . out 2>/dev/null)" = 2 ]; do
        kill -0 $pid 2>/dev/null || break
        sleep 0.02
    done
}

# How it ends, and what it has printed.
finish() {
    kill "$1" $pid
    wait $pid
    echo "ended by $1: $?"
    sed -E "s/:[0-9]+\//:PORT\//; s/=[0-9a-f]{32}$/=TOKEN/; s/kill $pid$/kill PID/" out
    cat err
}

start --no-open .
finish -TERM
start "$GOLDEN/v1.binpb"
finish -HUP
mkdir later
port=$(($$ % 10000 + 20000))
start --no-open --port $port later
grep -q ":$port/" out && echo "the port asked for"
memhawk view --no-open --port $port later 2>&1 | sed "s/$port/PORT/"
finish -TERM
start --no-open --listen ::1 .
finish -TERM

# The browser: detached, with an address that holds no token.
cat >browser <<'END'
#!/bin/sh
echo "$@" >browser.new
[ -t 0 ] && echo terminal >>browser.new
ps -o pgid= -p $$ >>browser.new
mv browser.new browser.out
END
chmod +x browser
export BROWSER="$PWD/browser --new-window %s:other"
start .
until [ -s browser.out ]; do sleep 0.02; done
grep -c "$(sed -n 's/.*token=//p' out)" browser.out
sed -E '2,$d; s/:[0-9]+\//:PORT\//; s/=[0-9a-f]{32}$/=TICKET/' browser.out
[ "$(sed -n '2s/ //gp' browser.out)" = "$(ps -o pgid= -p $pid | tr -d ' ')" ] && echo "same group"
finish -TERM
rm browser.out
BROWSER=/nowhere/browser start .
finish -TERM
unset BROWSER

# Beside a program: its status and output are its own, and nothing waits where nobody sits.
s 'memhawk run -q --view -o p -- sh -c "echo out; echo err >&2; exit 7" 2>err; echo "status $?"'
sed -E 's/:[0-9]+\//:PORT\//; s/=[0-9a-f]{32}$/=TOKEN/' err
s 'memhawk run -q --view -o p -- sh -c "ls -l /proc/self/fd | grep -c socket" 2>/dev/null'
s 'memhawk run -q --view -o p -- sh -c "kill -9 \$\$" 2>/dev/null'
s 'memhawk run -q --view -o p -- ./none 2>&1 | sed -E "s/:[0-9]+\//:PORT\//; s/=[0-9a-f]{32}$/=TOKEN/"'
s 'memhawk run -q --view -o p -- cat <text 2>/dev/null'
s '(memhawk run -q --view -o p -- sleep 30 & echo $! >pid; wait $!; echo "status $?") 2>/dev/null &'
until [ -s pid ] && pgrep -P "$(cat pid)" -x sleep >/dev/null; do sleep 0.02; done
server=$(pgrep -P "$(cat pid)" -x memhawk)
program=$(pgrep -P "$(cat pid)" -x sleep)
[ "$(ps -o pgid= -p "$server")" = "$(ps -o pgid= -p "$program")" ] && echo "same group"
readlink /proc/"$server"/fd/0 /proc/"$server"/fd/1 /proc/"$server"/fd/2
kill -9 "$(cat pid)" # not even so is a server left
wait
until ! kill -0 "$server" 2>/dev/null; do sleep 0.02; done
echo gone
kill "$program"
