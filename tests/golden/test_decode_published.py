#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""decode_published.py must pass our golden file and find each fault that it claims to find."""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)

PROCESS = '=== ProcessInfo\nprocessShortName: "p" pid: 1 startTimestamp: 1\n'
STACK = "ptrIds { ptrId: 1 ptrAddr: 9 } stacktraces { traceId: 1 ptrId: 1 }\n"
CHANGE = "changed { traceId: 1 actual { size: 5 active: 1 totalCount: 1 totalBytes: 5 } }\n"
TOTAL = "total { size: 5 active: 1 totalCount: 1 totalBytes: 5 }\n"
GOOD = PROCESS + "=== Snapshot\ntimestamp: 2\n" + STACK + CHANGE + TOTAL

# description, what the checker says (None: nothing)
CASES = [
    (GOOD, None),
    (GOOD + "=== Snapshot\ntimestamp: 2\n", None),
    (PROCESS + "=== Snapshot\ntimestamp: 2\n" + STACK + CHANGE
     + "total { size: 9 active: 2 totalCount: 1 totalBytes: 5 }\n", None),  # inherited by fork
    (GOOD + "=== Snapshot\ntimestamp: 3\ntotal { size: 6 active: 1 totalCount: 1 totalBytes: 5 }\n",
     "total size differs from the sum by 1"),
    (PROCESS + "=== Snapshot\ntimestamp: 2\n" + STACK + CHANGE
     + "total { size: 5 active: 1 totalCount: 2 totalBytes: 5 }\n",
     "total totalCount differs from the sum by 1"),
    (PROCESS + "=== Snapshot\ntimestamp: 2\n" + CHANGE + TOTAL, "stack 1 is not defined"),
    (PROCESS + "=== Snapshot\nstacktraces { traceId: 1 ptrId: 4 }\n",
     "frame 4 of stack 1 is not defined"),
    (GOOD + "=== Snapshot\ntimestamp: 3\n" + STACK, "stack 1 is defined again"),
    (GOOD + "=== Snapshot\ntimestamp: 3\nptrIds { ptrId: 1 ptrAddr: 8 }\n",
     "frame 1 has two addresses"),
    (GOOD + "=== Snapshot\ntimestamp: 1\n", "time runs backwards"),
    (GOOD + "=== Snapshot unchecked\ntimestamp: 3\n", "the frame has no checksum"),
    (GOOD + "=== Snapshot cut 1\ntimestamp: 3\n", "cut record"),
    (GOOD + "=== raw\n00 00\n", "cut length"),
    (GOOD + "=== packed\n0a 01 61 ff\n", "not a Snapshot of the published table"),
    ("=== ProcessInfo\npid: 1\n", "does not name the process"),
    ("", "the file is empty"),
]


def run(script, *args):
    return subprocess.run([sys.executable, os.path.join(TESTS, script), *args],
                          capture_output=True, text=True)


def check(path, want):
    result = run("decode_published.py", "--check", path)
    if want is None:
        return result.returncode == 0, result.stdout
    return result.returncode == 1 and want in result.stdout, result.stdout + result.stderr


def main():
    failures = 0
    good, output = check(os.path.join(HERE, "v1.binpb"), None)
    results = [("v1.binpb", good, output)]
    with tempfile.TemporaryDirectory() as folder:
        text, binpb = os.path.join(folder, "text"), os.path.join(folder, "binpb")
        for description, want in CASES:
            with open(text, "w") as file:
                file.write(description)
            made = run("make_profile.py", "--schema", "published", text, binpb)
            good, output = check(binpb, want) if made.returncode == 0 else (False, made.stderr)
            results.append((want or description, good, output))
    for name, good, output in results:
        if not good:
            failures += 1
            print("FAILED: %s\n%s" % (name, output))
    print("%d cases, %d failed" % (len(results), failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
