#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Our reading of .eh_frame beside readelf's, over every FDE of some files: where each function
begins and ends, and at the first and last byte of each row the CFA, rbp and the return address, and
the rule that the walker makes of them.

    test_cfi_readelf.py CFI_ROWS_DUMP LEAST-ROWS FILE...

LEAST-ROWS: of all files together, so that the test cannot pass by reading nothing. Exit status 77
(skipped) without readelf.
"""
import os
import re
import shutil
import subprocess
import sys

HEAD = re.compile(r"^([0-9a-f]+) [0-9a-f]+ [0-9a-f]+ (CIE|FDE) (.*)$")
IN_REGISTER = re.compile(r"\br\d+ \((\w+)\)")  # "r5 (rdi)"
FDE = re.compile(r"cie=([0-9a-f]+) pc=([0-9a-f]+)\.\.([0-9a-f]+)")


class Row:
    def __init__(self, start, end, signal, pc, cells):
        self.start, self.end, self.signal, self.pc = start, end, signal, pc
        self.next_pc = end
        self.cfa, self.rbp, self.ra = cells["CFA"], cells.get("rbp", "-"), cells["ra"]
        self.has_rsp = cells.get("rsp", "u") != "u"


def read_rows(path):
    """[Row] by readelf, which spells an expression "exp" and prints no column that no row sets."""
    text = subprocess.run(["readelf", "--debug-dump=frames-interp,no-follow-links", path],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True,
                          env={**os.environ, "LC_ALL": "C"}).stdout
    rows, cies, columns, entry, inside = [], {}, [], None, False
    for line in text.splitlines():
        if line.startswith("Contents of the"):
            inside = ".eh_frame" in line
        elif not inside:
            continue
        elif head := HEAD.match(line):
            offset, kind, rest = head.groups()
            if kind == "CIE":
                # The rows of an FDE without any of its own are those of its CIE.
                cie = {"signal": "S" in rest.split('"')[1], "cells": {"CFA": "?", "ra": "?"}}
                cies[int(offset, 16)] = cie
                entry = cie
            else:
                entry = add_fde(rest, cies, rows)
        elif line.startswith("   LOC"):
            columns = line.split()[1:]
        elif re.match(r"^[0-9a-f]{16} ", line):
            pc, *values = IN_REGISTER.sub(r"\1", line).split()
            add_row(entry, int(pc, 16), dict(zip(columns, values)), rows)
    return [row for row in rows if row.start < row.end]


def add_fde(rest, cies, rows):
    cie, start, end = (int(x, 16) for x in FDE.search(rest).groups())
    row = Row(start, end, cies[cie]["signal"], start, cies[cie]["cells"])
    rows.append(row)
    return {"rows": [row], "own": False}


def add_row(entry, pc, cells, rows):
    if "rows" not in entry:
        entry["cells"] = cells
        return
    last = entry["rows"][-1]
    row = Row(last.start, last.end, last.signal, pc, cells)
    if not entry["own"]:  # the first row, of the CIE, with the FDE's changes
        rows.pop()
    else:
        last.next_pc = pc
    entry["own"] = True
    entry["rows"].append(row)
    rows.append(row)


def rule_of(row):
    """What the walker's rule must be (src/unwind/rule.h), by the row that readelf prints. None: the
    linker's expression for lazy PLT entries may be a plain rule, which the row does not tell."""
    if row.ra == "u":
        return "outer"
    plain = (re.fullmatch(r"(rsp|rbp)[+-]\d+", row.cfa) and row.ra == "c-8" and not row.signal
             and not row.has_rsp and re.fullmatch(r"-|u|s|c[+-]\d+", row.rbp))
    if row.cfa == "exp" and not row.signal:
        return None
    if not plain:
        return "slow"
    return "plain:%s:%s" % (row.cfa, row.rbp if row.rbp.startswith("c") else "same")


def agrees(row, ours):
    start, end, cfa, rbp, ra, rule = ours
    wanted = rule_of(row)
    return ((start, end, cfa, ra) == ("%x" % row.start, "%x" % row.end, row.cfa, row.ra)
            and (rbp == row.rbp or (rbp in "-u" and row.rbp in "-u"))
            and (rule == wanted if wanted else rule in ("slow", "plain:rsp+8:same",
                                                        "plain:rsp+16:same")))


def compare(dump, path):
    """Number of rows, complaints."""
    rows = read_rows(path)
    asked = [(row, pc) for row in rows if row.pc < row.next_pc
             for pc in sorted({row.pc, row.next_pc - 1})]
    answers = subprocess.run([dump, path], input="\n".join("%x" % pc for _, pc in asked) + "\n",
                             stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    if len(answers) != len(asked):
        return len(rows), ["%s: %d answers for %d pcs" % (path, len(answers), len(asked))]
    wrong = ["%s: at %x readelf has %x %x %s %s %s (rule %s), we have %s" % (
        path, pc, row.start, row.end, row.cfa, row.rbp, row.ra, rule_of(row), answer)
        for (row, pc), answer in zip(asked, answers) if not agrees(row, answer.split())]
    return len(rows), wrong


def main():
    if not shutil.which("readelf"):
        print("readelf is not installed")
        return 77
    dump, least, *files = sys.argv[1:]
    total, failed = 0, 0
    for path in files:
        path = os.path.realpath(path)
        count, wrong = compare(dump, path)
        print("%s: %d rows, %d differ" % (path, count, len(wrong)))
        print("".join("  %s\n" % line for line in wrong[:10]), end="")
        total += count
        failed += bool(wrong)
    if total < int(least):
        print("only %d rows: expected %s" % (total, least))
        failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
