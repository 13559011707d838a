# SPDX-License-Identifier: Apache-2.0
# shellcheck source=common.sh
# Every option of `memhawk report` on the golden profiles; tests/golden/*.txt say what is in them.
. "$CASES/common.sh"
# The view without the head, and what is said on stderr but for the standing remarks of v1.
r() {
    t memhawk report "$@" 2>errors | awk '/^$/ { part++ } part != 1 && NR > 3 || /^\$|^->/'
    grep -vE 'without names|v1: (losses|example)' errors
}
cp "$GOLDEN/v1.binpb" v1
cp "$GOLDEN/published.binpb" published
t memhawk report v1
r --at end v1
r --at start v1
r --at 0.4 v1
r --at 1.6s v1
r --at 1970-01-01T00:00:02.5Z v1
r --at 1970-01-01T01:00:02.5+01:00 v1
r --at 99 v1
r --from 99 --to 100 v1
r --at 1960-01-01T00:00:00Z v1
r --at 1970-01-01T00:00:00Z v1
r --from 0.5 --to 1.5 v1
r --from 1.5 v1
r --to 0.7 v1
r --from 2 --to 1 v1
echo "--- a time as reports show it is the snapshot that it was shown for"
cat >late.txt <<'END'
=== ProcessInfo
processShortName: "late"
pid: 7
startTimestamp: 1700000000000000000
=== Snapshot
timestamp: 1700000001000700000
changed { traceId: 1 actual { size: 1000 active: 1 totalCount: 1 totalBytes: 1000 } }
stacktraces { traceId: 1 ptrId: 1 }
ptrIds { ptrId: 1 ptrAddr: 0x10 }
=== Snapshot
timestamp: 1700000001534000000
changed { traceId: 1 actual { size: 3000 active: 3 totalCount: 3 totalBytes: 3000 } }
=== Snapshot
timestamp: 1700000125200000000
changed { traceId: 1 actual { size: 2000 active: 2 totalCount: 3 totalBytes: 3000 } }
END
python3 "$SOURCE_ROOT/tests/make_profile.py" late.txt late
for time in 0.99 1 1.000 1.0007 1s 2023-11-14T22:13:21Z 1.53 1.530 1.52 124.9 125; do
    r --at $time late | grep -A1 ^Live
done
r --from 1 --to 1.53 late
s 'for time in 1 3; do memhawk report -f html --at $time late | grep -o "at [0-9.]* s.* s .* pid" | sort -u; done'
echo "--- a path whose blocks are all freed does not branch the tree of those that live"
cat >freed.txt <<'END'
=== ProcessInfo
processShortName: "freed"
pid: 7
startTimestamp: 1700000000000000000
=== Snapshot
timestamp: 1700000001000000000
changed { traceId: 1 actual { size: 1000 active: 1 totalCount: 1 totalBytes: 1000 } }
changed { traceId: 2 actual { size: 0 active: 0 totalCount: 5 totalBytes: 5000 } }
stacktraces { traceId: 1 ptrId: 1 ptrId: 2 ptrId: 3 }
stacktraces { traceId: 2 ptrId: 1 ptrId: 2 ptrId: 4 }
ptrIds { ptrId: 1 ptrAddr: 0x11 }
ptrIds { ptrId: 2 ptrAddr: 0x21 }
ptrIds { ptrId: 3 ptrAddr: 0x31 }
ptrIds { ptrId: 4 ptrAddr: 0x41 }
END
python3 "$SOURCE_ROOT/tests/make_profile.py" freed.txt freed
r --at end freed
r -m total-bytes freed
for metric in live-bytes live-count total-bytes total-count temporary overhead; do
    r -m $metric --at end published
done
echo "--- without --at: what only grows as of the end, the rest at the peak"
for metric in live-bytes live-count total-bytes total-count temporary overhead; do
    r -n 1 -m $metric v1
done
r -n 1 -m total-bytes --at peak v1
s 'for metric in live-bytes total-bytes; do memhawk report -m $metric -f json v1 2>/dev/null | python3 -c "
import json, sys
view = json.load(sys.stdin)[\"view\"]
print(view[\"metric\"], view[\"at_peak\"], view[\"time_s\"])"; done'
r -n 1 published
r --top=1 --at end v1
s 'memhawk report -f folded --at end --top 1 v1 2>/dev/null'
s 'memhawk report -f json --at end --top 1 v1 2>/dev/null | python3 -c "
import json, sys
report = json.load(sys.stdin)
print(len(report[\"stacks\"]), report[\"view\"][\"top\"], report[\"sum\"][\"live_count\"])"'
echo "--- what a format has no place for"
for format in text json folded html pprof speedscope heaptrack; do
    s "memhawk report -f $format --at end -m live-bytes --top 1 --inverted --collapse-recursion --full late 2>&1 >/dev/null | grep -v names"
done
r -g line published
r --inverted published
r --collapse-recursion --full published
r --filter 'libtree' v1
r --filter '^nowhere$' v1
r --filter '(?:.|.)*(?:.|.)*(?:.|.)*(?:.|.)*[~#]' v1
r -f folded published
r -f folded --inverted published
s 'memhawk report -f json published 2>/dev/null | python3 -c "
import json, sys
report = json.load(sys.stdin)
print(report[\"version\"], report[\"process\"][\"pid\"], len(report[\"stacks\"]))"'
s 'memhawk report -f html published 2>/dev/null | grep -ci "^<!doctype html"'
s 'memhawk report -f pprof published 2>/dev/null | od -An -tx1 -N2'
s 'memhawk report -f speedscope published 2>/dev/null | python3 -c "
import json, sys
print(json.load(sys.stdin)[\"\$schema\"])"'
s 'memhawk report -f heaptrack published 2>/dev/null | wc -c | grep -c "^[1-9]"'
s 'memhawk report --debuginfod late 2>&1 >/dev/null | grep URLS; DEBUGINFOD_URLS=http://127.0.0.1:9 memhawk report --debuginfod late 2>&1 >/dev/null | grep -c URLS'
echo "--- how it ended"
cat >exit.txt <<'END'
=== ProcessInfo
pid: 7
startTimestamp: 1700000000000000000
=== Snapshot
timestamp: 1700000001000000000
end { reason: 1 status: -1 }
END
python3 "$SOURCE_ROOT/tests/make_profile.py" --schema memhawk exit.txt exit
s 'memhawk report exit | sed -n 2p; memhawk info exit | grep ^end; memhawk report -f json exit | grep "^.end"; memhawk info --json exit | grep end_status'
s 'bash -c "LD_PRELOAD=$MEMHAWK_LIB MEMHAWK_INTERVAL_MS=50 sleep 100 & sleep 1; memhawk report memhawk_sleep_* | sed -n 2p; kill \$!; wait; memhawk report memhawk_sleep_* | sed -n 2p" 2>/dev/null | sed "s/^.*s, //"'
s 'rm memhawk_sleep_*; bash -c "LD_PRELOAD=$MEMHAWK_LIB MEMHAWK_INTERVAL_MS=50 sleep 100 & sleep 1; kill -9 \$!; wait; memhawk report memhawk_sleep_* | sed -n 2p" 2>/dev/null | sed "s/^.*s, //"'
echo "--- damage and losses are told, and what is good is shown"
s 'memhawk report v1 2>&1 >/dev/null'
s 'script -qec "memhawk report v1" /dev/null </dev/null | tr -d "\r" | grep ^memhawk:'
s 'memhawk report -f folded "$GOLDEN/damaged.binpb"'
s 'head -c 900 v1 >cut; memhawk report -f folded cut'
s 'head -c 60 v1 >short; memhawk report short'
s '(cat v1; echo garbage garbage garbage) >tail; memhawk report -f folded tail 2>&1 | grep -v names'
s 'memhawk report "$GOLDEN/future.binpb" 2>&1 | head -3'
