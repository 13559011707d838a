#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The end-to-end tests: trap programs with hand-computed figures, and real programs against the
counting oracle. One line per test, TAP-like; exit status 1 when one fails.

    run.py --lib libmemhawk.so --oracle liboracle.so --programs BUILD/tests/programs [-j N]
           [--group G] [--keep] [--list] [PATTERN...]

PATTERN is a shell pattern or a part of a test's name. docs/TESTING.md tells the rest.
"""
import argparse
import concurrent.futures
import fnmatch
import glob
import os
import signal
import sys
import time
import traceback

import battery
import directives
import endings
import special
from harness import Config, Failure, Skip

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.join(os.path.dirname(HERE), "programs")


def program_tests():
    for source in sorted(glob.glob(os.path.join(SOURCES, "*.c*"))):
        name = os.path.splitext(os.path.basename(source))[0]
        if not any("//!" in line for line in open(source, encoding="utf-8")):
            continue
        for variant in directives.parse(source):
            full = name + (":" + variant.name if variant.name else "")
            yield ("trap", full,
                   lambda s=source, v=variant: directives.run_variant(s, v))


def all_tests():
    yield from program_tests()
    yield from (("special", name, test) for name, test in special.tests())
    yield from (("special", name, test) for name, test in endings.tests())
    yield from (("battery", name, test) for name, test in battery.tests())


def run_one(test):
    group, name, function = test
    began = time.monotonic()
    try:
        complaints = function()
        result = "not ok" if complaints else "ok"
    except Skip as reason:
        result, complaints = "skip", [str(reason)]
    except Failure as reason:
        result, complaints = "not ok", [str(reason)]
    except Exception:  # a bug of the test is a failure too
        result, complaints = "not ok", [traceback.format_exc()]
    return group, name, result, complaints, time.monotonic() - began


def wanted(name, patterns):
    return not patterns or any(fnmatch.fnmatch(name, p) or p in name for p in patterns)


def choose(options):
    tests = [t for t in all_tests() if (not options.group or t[0] == options.group)
             and wanted(t[1], options.pattern)]
    if options.part:
        part, parts = map(int, options.part.split("/"))
        tests = tests[part - 1::parts]
    return tests


def main():
    # nohup ignores the first, a shell's `&` the second, and tests would inherit that.
    for number in (signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--lib", default="")
    parser.add_argument("--oracle", required=True)
    parser.add_argument("--programs", required=True)
    parser.add_argument("--memhawk", default="")
    parser.add_argument("-j", type=int, default=2)
    parser.add_argument("--group", choices=["trap", "special", "battery"])
    parser.add_argument("--part", help="K/N: every N-th test from the K-th on")
    parser.add_argument("--keep", action="store_true", help="keep the tests' folders")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("pattern", nargs="*")
    options = parser.parse_args()
    for name in ("lib", "oracle", "programs", "memhawk"):
        value = getattr(options, name)
        setattr(Config, name, os.path.realpath(value) if value else None)
    Config.keep = options.keep
    tests = choose(options)
    if options.list:
        print("\n".join("%s %s" % t[:2] for t in tests))
        return 0
    failed = skipped = 0
    print("1..%d" % len(tests), flush=True)
    with concurrent.futures.ThreadPoolExecutor(options.j) as pool:
        futures = [pool.submit(run_one, t) for t in tests]
        for number, future in enumerate(concurrent.futures.as_completed(futures), 1):
            group, name, result, complaints, seconds = future.result()
            head = "not ok" if result == "not ok" else "ok"
            tail = " # SKIP " + complaints[0] if result == "skip" else ""
            print("%s %d - %s/%s (%.1f s)%s" % (head, number, group, name, seconds, tail))
            if result == "not ok":
                print("".join("#   %s\n" % c.replace("\n", "\n#   ") for c in complaints), end="")
            sys.stdout.flush()
            failed += result == "not ok"
            skipped += result == "skip"
    print("# %d tests, %d failed, %d skipped" % (len(tests), failed, skipped))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
