#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds and runs the examples of examples/windows with their real harness, with and without the
profiler, and compares what harness and profile say with figures computed by hand. A harness that is
not installed is skipped; tools/packages.txt has them all. Swift cannot be run on Debian 12: its shim is
compiled as C, its package is not built.

    test_windows_examples.py --memhawk EXE --library LIB --include DIR --examples DIR
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

OPTIONS = None
WORK = None
CFLAGS = ["-O2", "-g", "-Wall", "-Wextra", "-D_GNU_SOURCE"]


def example(*parts):
    return os.path.join(OPTIONS.examples, *parts)


def build(compiler, source, name, *more):
    """A program, or a skipped test where a harness is missing; not where our own file is."""
    program = os.path.join(WORK, name)
    run = subprocess.run([compiler, *CFLAGS, "-I" + OPTIONS.include, source, "-o", program, *more],
                         stderr=subprocess.PIPE, text=True)
    if run.returncode and re.search(r"(benchmark|gtest|catch2?)/\S+: No such file|cannot find -l",
                                    run.stderr):
        raise unittest.SkipTest(run.stderr.splitlines()[0])
    assert run.returncode == 0, run.stderr
    return program


def run(command, expect=0, profiled=True, env=None):
    """(stdout, stderr, profile or None)"""
    folder = tempfile.mkdtemp(dir=WORK)
    more = {"LD_PRELOAD": OPTIONS.library} if profiled else {}
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=300, env={**os.environ, **more, **(env or {})})
    assert done.returncode == expect, (command, done.returncode, done.stdout, done.stderr)
    files = os.listdir(folder)
    assert len(files) == (1 if profiled else 0), files
    return done.stdout, done.stderr, os.path.join(folder, files[0]) if profiled else None


def iterations(profile, window):
    done = subprocess.run([OPTIONS.memhawk, "report", profile, "--window", window,
                           "--per-iteration", "--format", "json"], stdout=subprocess.PIPE,
                          text=True, check=True)
    return json.loads(done.stdout)


def figures(document, key="median"):
    figure = document["window"]["all"][key]
    return figure["allocations"], figure["bytes"]


def functions(document):
    return {f["function"].split("(")[0] for s in document["stacks"] for f in s["frames"]}


class Examples(unittest.TestCase):
    def test_plain_c(self):
        program = build("gcc", example("plain_c", "loop.c"), "loop")
        out, _, _ = run([program], profiled=False)
        self.assertEqual(out.count("not measured"), 2)
        out, _, profile = run([program])
        # 12 words of 51 letters: 3 3 5 4 4 3 5 5 4 3 6 6; realloc i asks for their sum so far + 1
        lengths = [3, 3, 5, 4, 4, 3, 5, 5, 4, 3, 6, 6]
        slowly = sum(sum(lengths[:i + 1]) + 1 for i in range(12))
        self.assertIn("12.0 allocations %8.1f bytes" % slowly, out)
        self.assertIn("1.0 allocations     52.0 bytes", out)
        document = iterations(profile, "join_slowly")
        for key in ("min", "median", "max"):
            self.assertEqual(figures(document, key), (12, slowly))
        self.assertEqual(document["window"]["iterations"], 1000)
        self.assertIn("join_slowly", functions(document))
        self.assertEqual(figures(iterations(profile, "join")), (1, 52))

    def test_google_benchmark(self):
        program = build("g++", example("google_benchmark", "bench.cc"), "bench", "-lbenchmark",
                        "-lpthread")
        short = [program, "--benchmark_min_time=0.01", "--benchmark_format=json"]
        out, _, _ = run(short, profiled=False)
        self.assertNotIn("allocs", out)
        out, _, profile = run(short)
        table = {b["name"]: b for b in json.loads(out)["benchmarks"]}
        # std::string is 32 bytes: 32 * (1 + 2 + 4 + 8 + 16); at the last growth 8 and 16 are alive
        split = table["BM_split"]
        self.assertEqual((split["allocs"], split["alloc_bytes"]), (5, 992))
        self.assertEqual((split["allocs_per_iter"], split["max_bytes_used"]), (5, 768))
        self.assertEqual((table["BM_copy"]["allocs"], table["BM_copy"]["allocs_per_iter"]), (1, 1))
        self.assertGreater(table["BM_plain"]["allocs_per_iter"], 5)  # with the harness' own
        for size, allocations, size_bytes in ((4, 3, 28), (64, 7, 508)):  # ints: 4 * (1 + 2 + 4 ...)
            grow = table["BM_grow/%d" % size]
            self.assertEqual((grow["allocs"], grow["alloc_bytes"]), (allocations, size_bytes))
            self.assertEqual(figures(iterations(profile, "grow/%d" % size)),
                             (allocations, size_bytes))
        document = iterations(profile, "split")
        for key in ("min", "median", "max"):
            self.assertEqual(figures(document, key), (5, 992))
        self.assertIn("split", functions(document))

    def test_googletest(self):
        program = build("g++", example("gtest", "lookup_test.cc"), "lookup_gtest", "-lgtest",
                        "-lgtest_main", "-lpthread")
        out, error, _ = run([program], profiled=False)
        self.assertIn("[  PASSED  ] 3 tests", out)
        self.assertEqual(error.count("not measured"), 3)
        out, _, profile = run([program], expect=1)
        self.assertIn("[  PASSED  ] 2 tests", out)
        self.assertIn("[  FAILED  ] Lookup.LiteralKeyAllocatesNothing", out)
        self.assertIn("1 allocation (40 bytes) here, expected 0", out)
        window = out.split("--window '")[1].split("'")[0]
        self.assertEqual(figures(iterations(profile, window)), (1, 40))
        self.assertEqual(figures(iterations(profile, os.path.basename(window))), (1, 40))

    def test_catch2(self):
        program = build("g++", example("catch2", "lookup_test.cc"), "lookup_catch", "-O0")
        out, _, _ = run([program], profiled=False)
        self.assertIn("2 passed", out)
        out, _, _ = run([program], expect=1)
        self.assertIn("1 passed | 1 failed", out)
        self.assertIn("1 allocation (17", out)

    def test_default_is_abort_and_required(self):
        source = os.path.join(WORK, "expect.c")
        with open(source, "w", encoding="ascii") as out:
            out.write('#include "memhawk.h"\nstatic void *volatile p;\n'
                      "int main(int n, char **v) { (void)v; MEMHAWK_EXPECT_ALLOCATIONS(1) {\n"
                      "while (n--) { p = malloc(5); free(p); } } return 0; }\n")
        program = build("gcc", source, "expect")
        _, error, _ = run([program], profiled=False)
        self.assertIn("not measured", error)
        run([program])
        _, error, profile = run([program, "twice"], expect=-6)
        self.assertIn("expect.c:3: 2 allocations (10 bytes) here, expected 1", error.replace(":4:", ":3:"))
        self.assertEqual(figures(iterations(profile, "expect.c:3")), (2, 10))
        required = build("gcc", source, "required", "-DMEMHAWK_REQUIRED")
        run([required], profiled=False, expect=-6)
        run([required])

    def test_rust(self):
        rustc = "/usr/bin/rustc" if os.path.exists("/usr/bin/rustc") else shutil.which("rustc")
        if not rustc:
            self.skipTest("no rustc")
        program = os.path.join(WORK, "rust_bench")
        subprocess.run([rustc, "-O", "-g", example("rust", "bench.rs"), "-o", program], check=True)
        out, _, _ = run([program], profiled=False)
        self.assertEqual(out.count("not measured"), 2)
        out, _, profile = run([program])
        self.assertIn("join_slowly", out)
        self.assertRegex(out, r"join \d+ ns, 1 allocations, 30 bytes")  # 5+4+5+5+7+4
        document = iterations(profile, "join")
        self.assertEqual(figures(document), (1, 30))
        self.assertEqual(document["window"]["iterations"], 500)
        self.assertIn("bench::join", " ".join(functions(document)).replace("rust_bench", "bench"))

    def test_python(self):
        python = "/usr/bin/python3"
        if not os.path.exists(python):
            self.skipTest("no Debian python3")
        script = example("python", "bench.py")
        env = {"PYTHONMALLOC": "malloc", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}
        out, _, _ = run([python, script], profiled=False, env=env)
        self.assertEqual(out.count("not measured"), 2)
        out, _, profile = run([python, script], env=env)
        counts = {line.split()[0]: int(line.split()[1]) for line in out.splitlines()}
        # one block each for 1000 points and the 743 numbers above 256, and the growing of the list
        self.assertGreaterEqual(counts["points"], 1743)
        self.assertLess(counts["points"], 1850)
        self.assertGreaterEqual(counts["numbers"], 743)
        self.assertLess(counts["numbers"], 800)
        document = iterations(profile, "points")
        self.assertEqual(document["window"]["iterations"], 20)
        baseline = figures(iterations(profile, "memhawk.baseline"))[0]
        self.assertAlmostEqual(figures(document)[0] - baseline, counts["points"], delta=8)

    def test_go(self):
        go = shutil.which("go")
        if not go:
            self.skipTest("no go")
        program = os.path.join(WORK, "go_bench")
        done = subprocess.run([go, "build", "-buildvcs=false", "-o", program, "."],
                              cwd=example("go"), env={**os.environ, "GOFLAGS": "-mod=mod",
                                                      "GOCACHE": os.path.join(WORK, "gocache")},
                              stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        out, _, _ = run([program], profiled=False)
        self.assertIn("render not measured", out)
        out, _, profile = run([program])
        self.assertIn("render 5 allocations, 155 bytes, peak 51", out)  # 11+21+31+41+51
        document = iterations(profile, "render")
        self.assertEqual(figures(document), (5, 155))
        self.assertEqual(document["window"]["iterations"], 10)
        self.assertIn("render", functions(document))

    def test_swift_shim_is_c(self):
        shim = example("swift", "Sources", "CMemHawk", "shim.h")
        source = os.path.join(WORK, "shim.c")
        with open(source, "w", encoding="ascii") as out:
            out.write('#include "%s"\n#include <stdlib.h>\n'
                      "int main(void) { MemHawkCounts c; uint64_t w = memhawk_swift_begin(\"s\");\n"
                      "void *volatile p = malloc(9); free(p); bool ok = memhawk_swift_end(w, &c);\n"
                      'printf("%%d %%d %%llu\\n", memhawk_swift_active(), ok, '
                      "(unsigned long long)c.allocations); return 0; }\n" % shim)
        program = build("gcc", source, "shim")
        self.assertTrue(run([program], profiled=False)[0].startswith("0 0 "))
        self.assertEqual(run([program])[0], "1 1 1\n")


def main():
    global OPTIONS, WORK
    parser = argparse.ArgumentParser()
    for option in ("--memhawk", "--library", "--include", "--examples"):
        parser.add_argument(option, required=True)
    OPTIONS, rest = parser.parse_known_args()
    WORK = tempfile.mkdtemp(prefix="memhawk_examples_")
    os.environ["XDG_CACHE_HOME"] = os.path.join(WORK, "cache")
    try:
        unittest.main(argv=[sys.argv[0], *rest])
    finally:
        shutil.rmtree(WORK, ignore_errors=True)


if __name__ == "__main__":
    main()
