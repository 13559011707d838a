# SPDX-License-Identifier: Apache-2.0
"""Frame truth: our unwinder beside libunwind on the same stacks (tests/oracle/frame_truth.c)."""
import glob
import os
import struct

import harness
import profile_file

HEAD = struct.Struct("<11Q128s")
FIELDS = ("magic calls samples frames equal truth_short ours_short marked differ cut "
          "example_count").split()
DEPTH = 256
EXAMPLE = struct.Struct("<4I%dQ%dQ" % (DEPTH, DEPTH))
KINDS = ("samples", "frames", "equal", "cut", "truth_short", "ours_short", "marked", "differ")


class Tally:
    """Sums over processes, with the first stacks that differ in readable form."""

    def __init__(self):
        self.sums = dict.fromkeys(KINDS, 0)
        self.examples = []

    def add(self, base):
        for path in sorted(glob.glob(os.path.join(base, "s.*"))):
            with open(path, "rb") as f:
                data = f.read()
            row = dict(zip(FIELDS, HEAD.unpack_from(data)))
            for kind in KINDS:
                self.sums[kind] += row[kind]
            exe = HEAD.unpack_from(data)[-1].rstrip(b"\0").decode()
            maps = os.path.join(base, "s-maps." + path.split(".")[-2])
            for i in range(min(row["example_count"], 16)):
                self.examples.append(describe(exe, EXAMPLE.unpack_from(
                    data, HEAD.size + i * EXAMPLE.size), read_maps(maps)))

    def text(self):
        return " ".join("%s=%d" % item for item in self.sums.items())


def read_maps(path):
    """[(start, end, load bias, file)] of the mappings with a file."""
    bases, ret = {}, []
    if not os.path.exists(path):
        return ret
    for line in open(path, encoding="utf-8", errors="replace"):
        words = line.split(maxsplit=5)
        if len(words) < 6:
            continue
        start, end = (int(x, 16) for x in words[0].split("-"))
        name = words[5].strip()
        bases.setdefault(name, start - int(words[2], 16))
        ret.append((start, end, bases[name], name))
    return ret


def place(address, maps):
    for start, end, bias, name in maps:
        if start <= address - 1 < end:
            return "%s+%x(%s)" % (profile_file.symbol(name, address - 1 - bias),
                                  address - bias, os.path.basename(name))
    return hex(address)


def describe(exe, example, maps):
    ours_depth, truth_depth, flags, at = example[:4]
    ours = example[4:4 + DEPTH][:ours_depth]
    truth = example[4 + DEPTH:][:truth_depth]
    near = slice(max(0, at - 2), at + 3)
    return "%s: depth %d, libunwind %d, flags %d, from frame %d on: ours %s; libunwind %s" % (
        os.path.basename(exe), ours_depth, truth_depth, flags, at,
        " < ".join(place(a, maps) for a in ours[near]),
        " < ".join(place(a, maps) for a in truth[near]))


def measure(bench, argv, library, tally, every, stdin=b"", during=None):
    bench.extra_env = dict(bench.extra_env, STACKS_PREFIX=os.path.join(bench.base, "s"),
                           STACKS_EVERY=str(every))
    run = bench.run(argv, "plain", library, stdin=stdin, during=during)
    tally.add(bench.base)
    for path in glob.glob(os.path.join(bench.base, "s[.-]*")):
        os.unlink(path)
    return run


def complaints(tally, least):
    """None of the samples may differ without a mark; marks are rare; the sample is large enough."""
    s = tally.sums
    ret = []
    if s["differ"] or s["ours_short"]:
        ret.append("%d stacks differ, %d end too early unmarked: %s" % (
            s["differ"], s["ours_short"], tally.text()))
        ret += tally.examples[:8]
    if s["marked"] * 1000 > s["samples"]:
        ret.append("more than 1 in 1000 stacks are marked broken where libunwind walks on: "
                   + tally.text())
        ret += tally.examples[:12]
    if s["samples"] < least:
        ret.append("only %d samples, expected %d" % (s["samples"], least))
    return ret


__all__ = ["Tally", "measure", "complaints", "harness"]
