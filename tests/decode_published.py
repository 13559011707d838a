#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads a profile by the published field table alone (tests/golden/published.proto), as a reader of
the original MemHawk would: framing here, zstd by its command, protobuf by protoc. None
of MemHawk's code takes part.

  decode_published.py FILE           prints all records in protobuf text form, unknown fields dropped
  decode_published.py --check FILE   checks what such a reader relies on; one line per offence, exit 1

Checked: every frame carries a checksum; the first record names the process; times do not run
backwards; every id is defined when it is used, once; sums over all stacks equal the totals (after a
fork, live figures may exceed them by what was inherited).
"""
import argparse
import os
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = os.path.join(HERE, "golden")
FIELDS = ("size", "active", "overhead", "totalCount", "totalBytes")


def decode(message, data):
    """Text form of the message, without what the published table does not know (protoc shows that
    by number)."""
    text = subprocess.run(["protoc", "--decode=memhawk.proto." + message, "-I" + GOLDEN,
                           "published.proto"], input=data, capture_output=True)
    if text.returncode:
        raise ValueError("not a %s of the published table: %s"
                         % (message, text.stderr.decode().strip()))
    known, hidden = [], 0
    for line in text.stdout.decode().splitlines():
        word = line.strip()
        if hidden or word[0].isdigit():
            hidden += word.endswith("{")
            hidden -= word == "}"
        else:
            known.append(line)
    return known


class Message:
    """Fields of a message in text form: numbers as int, 0 where absent; lists for the repeated."""

    def __init__(self, lines):
        self.fields = {}
        for line in lines:
            word = line.strip()
            if word == "}":
                return
            name = word.split()[0].rstrip(":")
            value = Message(lines) if word.endswith("{") else word.split(" ", 1)[1]
            self.fields.setdefault(name, []).append(value)

    def all(self, name):
        return self.fields.get(name, [])

    def one(self, name):
        return self.fields[name][-1] if name in self.fields else None

    def number(self, name):
        return int(self.one(name) or 0)

    def numbers(self, name):
        return [int(value) for value in self.all(name)]


def unpack(payload):
    return subprocess.run(["zstd", "-q", "-d", "-c"], input=payload, stdout=subprocess.PIPE,
                          check=True).stdout


def records(data):
    """(offset, payload) of each record; the file must end with one."""
    offset = 0
    while offset < len(data):
        if len(data) - offset < 8:
            raise ValueError("offset %d: cut length" % offset)
        (size,) = struct.unpack_from(">Q", data, offset)
        if size > len(data) - offset - 8:
            raise ValueError("offset %d: cut record" % offset)
        yield offset, data[offset + 8:offset + 8 + size]
        offset += 8 + size


class Checker:
    def __init__(self):
        self.offences = []
        self.time = 0
        self.frames, self.stacks, self.state = {}, {}, {}
        self.sums = [0] * len(FIELDS)
        self.inherited = None

    def offence(self, offset, text):
        self.offences.append("offset %d: %s" % (offset, text))

    def frame_header(self, offset, payload):
        if payload[:4] != b"\x28\xb5\x2f\xfd":
            self.offence(offset, "no zstd frame")
        elif not payload[4] & 4:
            self.offence(offset, "the frame has no checksum")

    def process(self, offset, process):
        if not (process.one("processShortName") and process.number("pid")
                and process.number("startTimestamp")):
            self.offence(offset, "the first record does not name the process")

    def definitions(self, offset, snapshot):
        for pointer in snapshot.all("ptrIds"):
            frame, address = pointer.number("ptrId"), pointer.number("ptrAddr")
            if self.frames.setdefault(frame, address) != address:
                self.offence(offset, "frame %d has two addresses" % frame)
        for stack in snapshot.all("stacktraces"):
            trace = stack.number("traceId")
            if trace in self.stacks:
                self.offence(offset, "stack %d is defined again" % trace)
            self.stacks[trace] = stack.numbers("ptrId")
            for frame in self.stacks[trace]:
                if frame not in self.frames:
                    self.offence(offset, "frame %d of stack %d is not defined" % (frame, trace))

    def change(self, offset, change):
        trace = change.number("traceId")
        actual = change.one("actual") or Message([])
        now = [actual.number(field) for field in FIELDS]
        if trace not in self.stacks:
            self.offence(offset, "stack %d is not defined" % trace)
        self.sums = [s + n - o for s, n, o in
                     zip(self.sums, now, self.state.get(trace, [0] * len(FIELDS)))]
        self.state[trace] = now

    def totals(self, offset, total):
        rest = [total.number(field) - s for field, s in zip(FIELDS, self.sums)]
        if self.inherited is None:
            self.inherited = rest
        for field, difference, allowed in zip(FIELDS, rest, self.inherited):
            if difference and (field.startswith("total") or not 0 <= difference <= allowed):
                self.offence(offset, "total %s differs from the sum by %d" % (field, difference))

    def snapshot(self, offset, snapshot):
        if snapshot.number("timestamp") < self.time:
            self.offence(offset, "time runs backwards")
        self.time = snapshot.number("timestamp")
        self.definitions(offset, snapshot)
        for change in snapshot.all("changed"):
            self.change(offset, change)
        if snapshot.one("total"):
            self.totals(offset, snapshot.one("total"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("file")
    args = parser.parse_args()
    checker = Checker()
    with open(args.file, "rb") as file:
        data = file.read()
    offset = 0
    try:
        for offset, payload in records(data):
            kind = "Snapshot" if offset else "ProcessInfo"
            checker.frame_header(offset, payload)
            lines = decode(kind, unpack(payload))
            (checker.snapshot if offset else checker.process)(offset, Message(iter(lines)))
            if not args.check:
                print("--- %s at %d" % (kind, offset), *lines, sep="\n")
    except (ValueError, subprocess.CalledProcessError) as error:
        checker.offence(offset, str(error))
    if not data:
        checker.offence(0, "the file is empty")
    for offence in checker.offences:
        print("%s: %s" % (args.file, offence), file=sys.stdout if args.check else sys.stderr)
    if args.check:
        print("%d stacks, %d frames, %d offences" % (len(checker.stacks), len(checker.frames),
                                                     len(checker.offences)))
    return 1 if checker.offences else 0


if __name__ == "__main__":
    sys.exit(main())
