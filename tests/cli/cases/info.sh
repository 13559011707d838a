# SPDX-License-Identifier: Apache-2.0
# shellcheck source=common.sh
# `memhawk info` on the golden profiles, as text and as JSON.
. "$CASES/common.sh"
for name in v1 published damaged future; do
    cp "$GOLDEN/$name.binpb" $name
    t memhawk info $name
done
t memhawk info --json v1
s 'memhawk info --json damaged | python3 -c "
import json, sys
print(json.load(sys.stdin)[\"damage\"])"'
echo "--- hostile names stay in their line"
python3 - <<'X'
import os, struct, subprocess
def record(kind, text):
    message = subprocess.run(["protoc", "--encode=memhawk.proto." + kind, "-I" + os.environ["GOLDEN"],
                              "published.proto"], input=text.encode(), stdout=subprocess.PIPE,
                             check=True).stdout
    packed = subprocess.run(["zstd", "-qc"], input=message, stdout=subprocess.PIPE, check=True).stdout
    return struct.pack(">Q", len(packed)) + packed
with open("hostile", "wb") as out:
    out.write(record("ProcessInfo", r'processShortName: "a\nb\033[31m\303\250\302\233" '
                     r'processFullPath: "/x\r\177\342\200\256y" pid: 3'))
    out.write(record("Snapshot", r'timestamp: 5 loadedSo { filename: "/m\033]0;t\007" addr: 4096 }'))
X
t memhawk info hostile
s 'memhawk info --json hostile | python3 -c "
import json, sys
print(ascii(json.load(sys.stdin)[\"process\"][\"name\"]))"'
