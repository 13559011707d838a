#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measurement windows, diff and check from end to end: programs of tests/e2e/windows with figures
computed by hand, run under the built library and read by the built command.

    test_windows.py --memhawk EXE --library LIB --include DIR [unittest arguments]
"""
import argparse
import errno
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.join(HERE, "windows")
OPTIONS = None
WORK = None

# name: allocations, bytes, frees, freed bytes, temporary, peak; see the comments in counts.c
COUNTS = {
    "nothing": (0, 0, 0, 0, 0, 0),
    "plain": (3, 16 + 30 + 100, 3, 146, 1, 146),
    "chain": (4, 10 + 20 + 40 + 80, 4, 150, 4, 80),
    "older": (1, 200, 5, 5000, 1, 0),
    "outlive": (7, 7 * 64, 0, 0, 0, 448),
    "inner": (2, 50, 0, 0, 0, 50),
    "outer": (5, 150, 0, 0, 0, 150),
    "crossing": (2, 110, 0, 0, 0, 110),
    "repeated": (3, 8 + 24 + 500, 3, 532, 1, 532),
    "paused": (3, 70, 2, 50, 1, 50),
    "custom": (4, 1024, 3, 768, 0, 1024),
    "pool": (64, 1024, 32, 512, 1, 1024),
    "near": (5, 100 + (8 << 30), 5, 100 + (8 << 30), 5, 8 << 30),
}


def build(source, name=None, compiler="gcc", flags=("-O2",)):
    program = os.path.join(WORK, name or os.path.splitext(source)[0])
    subprocess.run([compiler, "-g", "-Wall", "-Wextra", "-Werror", "-fno-optimize-sibling-calls",
                    *flags, "-I" + OPTIONS.include, os.path.join(SOURCES, source), "-o", program,
                    "-pthread"], check=True)
    return program


def profile(program, *args, expect=0, env=None):
    """Runs under the library; returns what it printed and the profile's path."""
    folder = tempfile.mkdtemp(dir=WORK)
    run = subprocess.run([program, *args], cwd=folder, stdout=subprocess.PIPE, text=True,
                         errors="replace", timeout=300,
                         env={**os.environ, "LD_PRELOAD": OPTIONS.library, **(env or {})})
    assert run.returncode == expect, (program, run.returncode)
    files = os.listdir(folder)
    assert len(files) == 1, files
    return run.stdout, os.path.join(folder, files[0])


def memhawk(*args, expect=0):
    run = subprocess.run([OPTIONS.memhawk, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         text=True, timeout=120)
    assert run.returncode == expect, (args, run.returncode, run.stdout, run.stderr)
    return run.stdout, run.stderr


def iterations(path, window):
    return json.loads(memhawk("report", path, "--window", window, "--per-iteration", "--format",
                              "json")[0])


def stats(output):
    return {line.split()[0]: tuple(int(n) for n in line.split()[1:])
            for line in output.splitlines() if len(line.split()) == 8}


class Counts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.output, cls.path = profile(build("counts.c"))

    def test_stats_are_as_computed(self):
        got = stats(self.output)
        for name, expected in COUNTS.items():
            self.assertEqual(got[name], (0, *expected), name)
        self.assertIn("active 1", self.output)
        self.assertIn("no mark -22", self.output)
        self.assertIn("snapshot 0", self.output)

    def test_profile_says_the_same(self):
        for name, (allocs, size, frees, freed, temporary, peak) in COUNTS.items():
            if name == "repeated":
                continue
            document = iterations(self.path, name)
            window, all_ = document["window"], document["window"]["all"]
            self.assertEqual(window["iterations"], 1)
            self.assertEqual(window["unfinished"], 0)
            expected = {"allocations": allocs, "bytes": size, "frees": frees, "freed_bytes": freed,
                        "temporary": temporary, "live_bytes": size - freed,
                        "live_count": allocs - frees}
            for key in ("min", "median", "max", "total"):
                self.assertEqual(all_[key], expected, (name, key))
            self.assertEqual(window["peak_bytes"], {"min": peak, "median": peak, "max": peak})

    def test_iterations(self):
        # 100: the first 13 allocations, then every tenth 3, the others 2
        document = iterations(self.path, "repeated")
        all_ = document["window"]["all"]
        self.assertEqual(document["window"]["iterations"], 100)
        self.assertEqual([all_[k]["allocations"] for k in ("min", "median", "max", "total")],
                         [2, 2, 13, 13 + 10 * 3 + 89 * 2])
        self.assertEqual(all_["max"]["bytes"], 532)
        self.assertEqual(all_["total"]["bytes"], 100 * 32 + 11 * 7 + 10 * 500)
        self.assertEqual(len(document["stacks"]), 3)  # two calls of take from one function are one
        by_site = {s["frames"][0]["function"]: s for s in document["stacks"]}
        self.assertEqual(by_site["take"]["iterations"], 100)
        self.assertTrue(by_site["take"]["in_all"])
        self.assertEqual(by_site["take_zeroed"]["iterations"], 1)
        self.assertEqual(by_site["take_zeroed"]["max"]["allocations"], 11)
        self.assertEqual(by_site["take_zeroed"]["median"]["allocations"], 0)
        self.assertFalse(by_site["take_zeroed"]["in_all"])
        self.assertEqual(by_site["resize"]["iterations"], 10)
        self.assertEqual(by_site["resize"]["total"]["bytes"], 5000)

    def test_limits_are_those_of_the_worst_iteration(self):
        # most iterations peak at 32 bytes, every tenth at 532
        memhawk("check", self.path, "--window", "repeated", "--max-peak", "532",
                "--max-allocations", "13")
        for limit in (("--max-peak", "531"), ("--max-allocations", "12")):
            out, _ = memhawk("check", self.path, "--window", "repeated", *limit, expect=1)
            self.assertIn("of 100 iterations are like the worst", out)

    def test_every_format(self):
        for name in ("text", "json", "folded", "html", "pprof", "speedscope"):
            out = os.path.join(WORK, "out." + name)
            memhawk("report", self.path, "--window", "repeated", "--format", name, "-o", out)
            self.assertGreater(os.path.getsize(out), 100, name)
        folded, _ = memhawk("report", self.path, "--window", "repeated", "--format", "folded")
        totals = {line.rsplit(";", 1)[1].rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1])
                  for line in folded.splitlines()}
        self.assertEqual(totals, {"take": 200, "take_zeroed": 11, "resize": 10})
        folded, _ = memhawk("report", self.path, "--window", "repeated", "--sort", "bytes",
                            "--format", "folded")
        self.assertIn(";resize 5000", folded)
        view = json.loads(memhawk("report", self.path, "--window", "repeated", "--format",
                                  "json")[0])
        self.assertEqual(view["view"]["kind"], "window")
        self.assertEqual(view["view"]["window"]["iterations"], 100)
        self.assertEqual(view["sum"]["total_count"], 221)
        text, _ = memhawk("report", self.path, "--window", "repeated")
        self.assertIn("window repeated, 100 iterations", text)
        memhawk("report", self.path, "--window", "repeated", "--format", "heaptrack", expect=2)

    def test_whole_run_without_paused_blocks(self):
        report = json.loads(memhawk("report", self.path, "--at", "end", "--top", "1000", "--format",
                                    "json")[0])
        functions = [f["function"] for s in report["stacks"] for f in s["frames"]]
        self.assertNotIn("paused", "".join(s["frames"][1]["function"] for s in report["stacks"]
                                           if s.get("total_bytes") == 1000))
        self.assertIn("custom", functions)


class Threads(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.program = build("window_threads.c")

    def test_quiet_beside_ten_million(self):
        output, path = profile(self.program, "noisy")
        self.assertIn("noise 10000000", output)
        self.assertEqual(stats(output)["quiet"], (0,) * 7)
        self.assertEqual(iterations(path, "quiet")["stacks"], [])

    def test_process_window(self):
        output, path = profile(self.program, "process")
        self.assertIn("end 0", output)
        document = iterations(path, "all")
        self.assertEqual(document["window"]["scope"], "process")
        got = stats(output)["all"]
        self.assertEqual(got[1], document["window"]["all"]["total"]["allocations"])
        self.assertEqual(got[2], document["window"]["all"]["total"]["bytes"])
        ours = [s for s in document["stacks"] if s["frames"][0]["function"] == "work"]
        self.assertEqual(sum(s["total"]["allocations"] for s in ours), 4000)
        self.assertEqual(sum(s["total"]["freed_bytes"] for s in ours), 4000 * 32)
        text, _ = memhawk("report", path, "--window", "all", "--per-iteration")
        self.assertIn("\nscope process, 1 iteration, ", text)
        # what else there is, pthread_create took
        for stack in document["stacks"]:
            names = " ".join(f["function"] for f in stack["frames"])
            self.assertTrue(stack in ours or "pthread_create" in names, names)

    def test_peaks_of_process_windows(self):
        output, _ = profile(build("process_peak.c"))
        peaks = dict(line.split() for line in output.splitlines())
        for size in (1, 4, 13, 40, 121, 364, 1093, 3280):  # times 3, plus 1
            self.assertEqual(peaks["alone-%d" % (size + 7)], str(size + 7))
        self.assertAlmostEqual(int(peaks["main"]), 100000, delta=256)
        self.assertAlmostEqual(int(peaks["other"]), 50000, delta=256)
        self.assertAlmostEqual(int(peaks["release"]), 20000000, delta=256)

    def test_states_of_threads_that_died(self):
        output, path = profile(build("dead_threads.c"))
        self.assertEqual(output.split(), ["7", "70", str(-errno.EINVAL)])
        losses = json.loads(memhawk("report", path, "--format", "json")[0])["losses"]
        self.assertEqual(losses["windows_dropped"], 100 * 16)

    def test_blocks_announced_too_near_at_once(self):
        _, path = profile(build("announce_race.c"))
        totals = json.loads(memhawk("report", path, "--format", "json")[0])["totals"]
        self.assertGreaterEqual(totals["total_count"], 2 * 1000000)
        self.assertIn(totals["live_bytes"], range(1 << 40))

    def test_same_name_on_four_threads(self):
        _, path = profile(self.program, "same")
        document = iterations(path, "mine")
        all_ = document["window"]["all"]
        self.assertEqual(document["window"]["iterations"], 200)
        for key in ("min", "median", "max"):
            self.assertEqual((all_[key]["allocations"], all_[key]["bytes"], all_[key]["frees"]),
                             (3, 60, 3))
        self.assertEqual(all_["total"]["allocations"], 600)
        self.assertEqual(document["window"]["peak_bytes"]["max"], 60)


class SharedNames(unittest.TestCase):
    """Two windows of one name and two scopes, and several with one end; figures in window_names.c."""
    @classmethod
    def setUpClass(cls):
        cls.output, cls.path = profile(build("window_names.c"))

    def test_scope_tells_them_apart(self):
        for scope, repeats, count in (("thread", 3, 1), ("process", 5, 2)):
            window = iterations(self.path, "same (%s)" % scope)["window"]
            self.assertEqual((window["name"], window["scope"], window["iterations"],
                              window["all"]["median"]["allocations"]),
                             ("same", scope, repeats, count))
        for verb in (("report",), ("diff", self.path), ("check", "--max-bytes", "1")):
            _, error = memhawk(*verb, self.path, "--window", "same",
                               expect=2 if verb[0] == "check" else 1)
            self.assertIn("more than one window is meant: same (", error)
            self.assertEqual(error.count("\n"), 1, error)
        budget = os.path.join(WORK, "names.toml")
        with open(budget, "w", encoding="utf-8") as out:
            out.write('["same (thread)"]\nmax-allocations = 1\n'
                      '["same (process)"]\nmax-allocations = 1\n["same"]\nmax-bytes = 99\n')
        out, _ = memhawk("check", self.path, "--budget", budget, expect=1)
        self.assertIn("pass  window same (thread), worst iteration: allocations 1", out)
        self.assertIn("FAIL  window same (process), worst iteration: allocations 2", out)
        self.assertIn("????  window same: bytes, at most 99 B: could not tell: more than one", out)
        out, _ = memhawk("check", self.path, "--baseline", self.path)
        self.assertIn("window same (thread), median iteration: allocations 1, baseline 1", out)
        self.assertIn("window same (process), median iteration: allocations 2, baseline 2", out)

    def test_end_of_a_name(self):
        self.assertEqual(iterations(self.path, "only")["window"]["name"], "a/b/only")
        _, error = memhawk("report", self.path, "--window", "twice", expect=1)
        self.assertIn("more than one window is meant: a/twice, b/twice\n", error)

    def test_ten_thousand_names(self):
        """None is lost, and what comes after them neither."""
        self.assertIn("begun 10000\n", self.output)
        report = json.loads(memhawk("report", self.path, "--format", "json")[0])
        self.assertEqual(report["losses"]["windows_dropped"], 0)
        for name, count in (("name 0", 1), ("name 6789", 6), ("name 9999", 9), ("last", 9)):
            window = iterations(self.path, name)["window"]
            self.assertEqual(window["all"]["total"]["allocations"], count, name)
        _, error = memhawk("report", self.path, "--window", "nope", expect=1)
        self.assertRegex(error, r"it has (name \d+, ){2,}name \d+ and \d+ more\n$")


class LeftOpen(unittest.TestCase):
    def test_nobody_inherits_it(self):
        output, path = profile(build("left_open.c"))
        self.assertEqual(output, "left -22\nown 0 3 90\n")
        report = json.loads(memhawk("report", path, "--format", "json")[0])
        self.assertEqual(report["losses"]["windows_dropped"], 300 * 16)
        document = iterations(path, "own")
        self.assertEqual(document["window"]["iterations"], 1)
        self.assertEqual(document["window"]["all"]["total"]["bytes"], 90)
        self.assertEqual(iterations(path, "left")["window"]["iterations"], 0)


class Misuse(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.program = build("misuse.c")

    def test_codes(self):
        output, path = profile(self.program)
        self.assertEqual(output.split("\n")[:-1],
                         ["other-thread -1", "none-ended -2 1", "end 0", "twice -22", "zero 0",
                          "wild -22", "resume -22", "open 16", "null 0", "empty 0", "scope 0"])
        info = json.loads(memhawk("report", path, "--format", "json")[0])
        self.assertEqual(info["losses"]["windows_dropped"], 5)  # 4 of deep, the empty name
        memhawk("report", path, "--window", "n" * 255)
        _, error = memhawk("report", path, "--window", "nope", expect=1)
        lines = [line for line in error.splitlines() if "windows dropped" not in line]
        self.assertEqual(len(lines), 1, error)
        self.assertIn("deep", lines[0])
        self.assertNotIn("\x1b", error)
        # lost windows: a check cannot pass, but can fail
        memhawk("check", path, "--window", "main", "--max-allocations", "99999", expect=2)

    def test_without_the_profiler(self):
        run = subprocess.run([self.program], stdout=subprocess.PIPE, text=True, check=True)
        lines = run.stdout.split("\n")
        self.assertIn("none-ended -38 1", lines)
        self.assertIn("open 0", lines)

    def test_killed_inside(self):
        _, path = profile(self.program, "kill", expect=-9)
        document = iterations(path, "cut")
        self.assertEqual(document["window"]["iterations"], 2)
        self.assertEqual(document["window"]["unfinished"], 1)
        self.assertEqual(document["window"]["all"]["max"]["allocations"], 1)
        text, _ = memhawk("report", path, "--window", "cut", "--per-iteration")
        self.assertIn("1 unfinished", text)
        text, _ = memhawk("report", path, "--window", "cut")
        self.assertIn("Allocations in window cut, 2 iterations, 1 unfinished: 2, 1 stack\n", text)
        self.assertIn("window cut, 2 iterations, 1 unfinished",
                      memhawk("report", path, "--window", "cut", "--format", "html")[0])


class OwnMalloc(unittest.TestCase):
    """Nothing is seen of another malloc: that must not look like a count of 0."""
    @classmethod
    def setUpClass(cls):
        cls.program = build("blind_malloc.c", flags=("-O1", "-fno-builtin"))

    def test_not_measured(self):
        output, path = profile(self.program)
        self.assertEqual(output, "active 0 end 0 stats -61 allocations -1 bytes -1\n" * 2)
        for args in (("--window", "own", "--max-allocations", "7"), ("--max-peak", "1MiB"),
                     ("--baseline", path)):
            out, _ = memhawk("check", path, *args, expect=2)
            self.assertIn("another malloc stands before the recorder", out)
            self.assertNotIn("pass ", out)

    def test_assertion_does_not_pass(self):
        folder = tempfile.mkdtemp(dir=WORK)
        run = subprocess.run([self.program], cwd=folder, stderr=subprocess.PIPE,
                             stdout=subprocess.DEVNULL, text=True,
                             env={**os.environ, "LD_PRELOAD": OPTIONS.library})
        self.assertIn("not measured", run.stderr)

    def test_announced_blocks_are_measured(self):
        output, path = profile(self.program, "announce")
        self.assertEqual(output, "active 1 end 0 stats 0 allocations 7 bytes 70\n" * 2)
        self.assertEqual(iterations(path, "own")["window"]["all"]["median"]["bytes"], 70)


class Header(unittest.TestCase):
    def test_languages(self):
        source = os.path.join(WORK, "all.c")
        with open(source, "w", encoding="ascii") as out:
            out.write('#include "memhawk.h"\n'
                      "int main(void) { int n = 0; struct memhawk_counts c;\n"
                      "memhawk_window w = memhawk_window_begin(\"w\", MEMHAWK_PROCESS);\n"
                      "n += memhawk_window_end(w) + memhawk_window_stats(&c) + memhawk_mark(\"m\");\n"
                      "n += memhawk_pause() + memhawk_resume() + memhawk_snapshot();\n"
                      "n += memhawk_alloc(&c, 1) + memhawk_free(&c) + memhawk_active();\n"
                      "MEMHAWK_EXPECT_AT_MOST(3) { MEMHAWK_EXPECT_ALLOCATIONS(0) { n++; } }\n"
                      "return n == 0; }\n")
        for compiler, standards in (("gcc", ("c99", "c11", "gnu17", "c2x")),
                                    ("clang", ("c99", "c17")),
                                    ("g++", ("c++11", "c++14", "c++17", "c++20")),
                                    ("clang++", ("c++11", "c++20"))):
            if not shutil.which(compiler):
                continue
            language = "c++" if "++" in compiler else "c"
            strict = ["-Wold-style-cast"] if "++" in compiler else ["-Wcast-qual", "-Wconversion"]
            for standard in standards:
                subprocess.run([compiler, "-x", language, "-std=" + standard, "-Wall", "-Wextra",
                                "-pedantic", "-Wshadow", *strict, "-Werror", "-fsyntax-only",
                                "-I" + OPTIONS.include, source], check=True)

    def test_found_in_every_kind_of_program(self):
        """Also where code is not position independent; and a static one runs without."""
        for flags in (("-O0",), ("-O2", "-fno-pie", "-no-pie"), ("-O2", "-masm=intel"),
                      ("-O2", "-flto"), ("-DMEMHAWK_NO_ASM", "-fPIE", "-pie")):
            output, _ = profile(build("counts.c", "kind", flags=flags))
            self.assertIn("active 1", output, flags)
            self.assertEqual(stats(output)["plain"], (0, *COUNTS["plain"]), flags)
        program = build("counts.c", "kind_static", flags=("-static",))
        run = subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True)
        self.assertIn("active 0", run.stdout)

    def test_call_without_profiler_is_load_and_compare(self):
        code = subprocess.run(["gcc", "-O2", "-S", "-I" + OPTIONS.include, "-x", "c", "-", "-o", "-"],
                              input='#include "memhawk.h"\nint f(void) { return memhawk_pause(); }',
                              stdout=subprocess.PIPE, text=True, check=True).stdout
        body = [line for line in code.split("f:")[1].split(".cfi_endproc")[0].splitlines()
                if re.match(r"\t[a-z]", line)]
        self.assertLessEqual(len(body), 6, body)


class Cost(unittest.TestCase):
    def test_pair_with_ten_thousand_stacks(self):
        output, _ = profile(build("cost.c"))
        for line in output.splitlines():
            scope, ns = line.split()
            self.assertLess(int(ns), 20000, scope)

    def test_instructions_of_a_pair(self):
        """The clock depends on the machine, this does not: measured 1000, bar 3000."""
        if not shutil.which("valgrind"):
            self.skipTest("no valgrind")
        folder = tempfile.mkdtemp(dir=WORK)
        run = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=" + folder + "/out",
                              "--toggle-collect=pair", build("cost.c"), "1000"], cwd=folder,
                             stderr=subprocess.PIPE, text=True, check=True,
                             env={**os.environ, "LD_PRELOAD": OPTIONS.library})
        self.assertLess(int(re.search(r"Collected : (\d+)", run.stderr).group(1)), 3000 * 1000)


class Diff(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.before = profile(build("key.c"))[1]
        cls.again = profile(os.path.join(WORK, "key"))[1]
        cls.added = profile(build("key.c", "key_added", flags=("-O2", "-DADDED")))[1]
        cls.inserted = profile(build("key.c", "key_inserted", flags=("-O2", "-DINSERTED")))[1]
        cls.unoptimised = profile(build("key.c", "key_O0", flags=("-O0",)))[1]

    def rows(self, before, after, *args):
        return json.loads(memhawk("diff", before, after, "--format", "json", *args)[0])

    def test_identical_runs(self):
        for args in (("--window", "parse"), (), ("--metric", "live-bytes", "--at", "end"),
                     ("--metric", "temporary")):
            self.assertEqual(self.rows(self.before, self.again, *args)["rows"], [], args)

    def test_identical_runs_of_real_programs(self):
        """With address randomisation off, so that what depends on addresses does not differ."""
        sql = ("create table t(a, b); with recursive c(x) as (select 1 union all select x + 1 from c "
               "where x < 20000) insert into t select x, hex(x * 7919 % 10007) from c; "
               "select count(*) from (select * from t order by b);")
        env = {"MEMHAWK_FOLLOW": "none", "PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0",
               "PERL_HASH_SEED": "0", "PERL_PERTURB_KEYS": "0", "MEMHAWK_UNWIND": "cfi"}
        for command in (("sqlite3", ":memory:", sql),
                        ("perl", "-e", "my %h; $h{$_} = [$_, $_ * 2] for 1..5000;"),
                        ("/usr/bin/python3", "-S", "-c", "import json; json.loads(json.dumps("
                         "[{'a': i, 'b': str(i)} for i in range(2000)]))"),
                        ("git", "--version")):
            if not shutil.which(command[0]):
                continue
            paths = []
            for _ in range(2):
                folder = tempfile.mkdtemp(dir=WORK)
                subprocess.run(["setarch", "-R", "env", "LD_PRELOAD=" + OPTIONS.library, *command],
                               cwd=folder, check=True, stdout=subprocess.DEVNULL,
                               env={**os.environ, **env})
                paths.append(os.path.join(folder, os.listdir(folder)[-1]))
                self.assertEqual(len(os.listdir(folder)), 1)
            for metric in ("total-count", "total-bytes", "live-bytes", "temporary"):
                document = self.rows(*paths, "--at", "end", "--metric", metric)
                self.assertEqual(document["rows"], [], (command[0], metric))
                self.assertGreater(document["summary"]["same"], 5)

    def test_added_call_is_named(self):
        document = self.rows(self.before, self.added, "--window", "parse")
        self.assertEqual(document["before"]["values"]["total_count"], 3)
        self.assertEqual(document["after"]["values"]["total_count"], 5)
        self.assertEqual(len(document["rows"]), 1)
        row = document["rows"][0]
        self.assertEqual((row["kind"], row["change"], row["before"]), ("new", 2, None))
        frame = row["after"]["frames"][row["after"]["first_difference"]]
        self.assertEqual(frame["function"], "make_key")
        with open(os.path.join(SOURCES, "key.c"), encoding="utf-8") as source:
            line = next(i for i, text in enumerate(source, 1) if "key = malloc(40)" in text)
        self.assertEqual(frame["place"], "key.c:%d" % line)
        text, _ = memhawk("diff", self.before, self.added, "--window", "parse")
        self.assertIn("1 new, 0 more, 0 fewer, 0 gone", text)
        self.assertIn("bytes allocated per iteration of window parse",
                      memhawk("diff", self.before, self.added, "--window", "parse", "--metric",
                              "bytes")[0])
        self.assertRegex(text, r"new +\+2")
        self.assertRegex(text, r"make_key +key\.c:%d" % line)
        back = self.rows(self.added, self.before, "--window", "parse")
        self.assertEqual([r["kind"] for r in back["rows"]], ["gone"])

    def test_inserted_frame_pairs(self):
        document = self.rows(self.before, self.inserted, "--window", "parse")
        self.assertEqual(document["rows"], [])
        self.assertEqual(document["summary"]["paired_by_likeness"], 1)

    def test_another_optimisation_level(self):
        document = self.rows(self.before, self.unoptimised, "--window", "parse")
        self.assertEqual(document["rows"], [])

    def test_a_lambda_at_other_levels_and_of_another_compiler(self):
        """20 blocks of 4 bytes, and a vector that grows to 1, 2, 4, 8, 16, 32."""
        profiles = [profile(build("lambdas.cc", "lambdas_" + name, compiler, flags))[1]
                    for name, compiler, flags in (("O0", "g++", ("-O0",)), ("O2", "g++", ("-O2",)),
                                                  ("clang", "clang++", ("-O2",)))
                    if shutil.which(compiler)]
        for other in profiles[1:]:
            document = self.rows(profiles[0], other, "--window", "parse")
            self.assertEqual(document["after"]["values"]["total_count"], 26)
            self.assertEqual(document["rows"], [])
            self.assertEqual((document["summary"]["same"], document["summary"]["ambiguous"]), (2, 0))

    def test_scopes_differ(self):
        with open(os.path.join(SOURCES, "key.c"), encoding="utf-8") as source:
            text = source.read().replace("MEMHAWK_THREAD", "MEMHAWK_PROCESS")
        changed = os.path.join(WORK, "key_process.c")
        with open(changed, "w", encoding="utf-8") as out:
            out.write(text)
        other = profile(build(changed))[1]
        _, error = memhawk("diff", self.before, other, "--window", "parse")
        self.assertIn("--window parse: is of a thread in the one file, of the process in the other",
                      error)
        self.assertNotIn("is of a thread", memhawk("diff", self.before, self.again, "--window",
                                                   "parse")[1])

    def test_formats(self):
        folded, _ = memhawk("diff", self.before, self.added, "--window", "parse", "--format",
                            "folded")
        values = {line.split(" ")[0].rsplit(";", 1)[1]: line.split(" ")[1:]
                  for line in folded.splitlines()}
        self.assertEqual(values, {"copy_text": ["2", "2"], "parse": ["1", "1"],
                                  "make_key": ["0", "2"]})
        html = os.path.join(WORK, "diff.html")
        memhawk("diff", self.before, self.added, "--window", "parse", "--format", "html", "-o", html)
        with open(html, encoding="utf-8") as page:
            self.assertIn("make_key", page.read())

    def test_two_moments_of_one_file(self):
        document = json.loads(memhawk("diff", self.before, "--from", "start", "--to", "end",
                                      "--metric", "total-count", "--format", "json")[0])
        copies = [r for r in document["rows"]
                  if r["after"]["frames"][0]["function"] == "copy_text"]
        self.assertEqual([(r["kind"], r["change"]) for r in copies], [("new", 100)])

    def test_nothing_in_common(self):
        other = profile(build("cost.c"), "3")[1]
        _, error = memhawk("diff", self.before, other)
        self.assertIn("no call stack in common", error)

    def test_wrong_requests(self):
        for args, words in (((self.before,), "one file"),
                            ((self.before, self.added, "--from", "1"), "--from and --to"),
                            ((self.before, self.added, "--metric", "x"), "no such metric"),
                            ((self.before, self.added, self.again), "third file"),
                            ((self.before, self.added, "--window", "a", "--at", "1"), "--at"),
                            ((), "no profiles")):
            _, error = memhawk("diff", *args, expect=2)
            self.assertIn(words, error)
            self.assertEqual(error.count("\n"), 1)
        _, error = memhawk("diff", self.before, self.added, "--window", "x", expect=1)
        self.assertIn("it has parse", error)


class Check(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.path = profile(build("key.c"))[1]
        cls.added = profile(build("key.c", "key_added", flags=("-O2", "-DADDED")))[1]

    def budget(self, text):
        path = os.path.join(WORK, "budget.toml")
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        return path

    def test_limits(self):
        # copy_text: 6 + 5 bytes in 2 allocations; scratch 512; all freed, at most one at a time
        exact = ("--max-allocations", "3", "--max-bytes", "523", "--max-peak", "512",
                 "--max-live-at-end", "0", "--max-temporary", "3")
        out, _ = memhawk("check", self.path, "--window", "parse", *exact)
        self.assertIn("passed: 5 limits", out)
        for option, value in zip(exact[::2], exact[1::2]):
            if value != "0":
                out, _ = memhawk("check", self.path, "--window", "parse", option,
                                 str(int(value) - 1), expect=1)
                self.assertIn("FAIL", out)
        self.assertIn("passed", memhawk("check", self.path, "--max-peak", "1MiB")[0])
        memhawk("check", self.path, "--max-allocations", "0", expect=1)

    def test_names_the_stack_at_fault(self):
        out, _ = memhawk("check", self.added, "--window", "parse", "--max-allocations", "3",
                         "--format", "json", expect=1)
        result = json.loads(out)["results"][0]
        self.assertEqual((result["figure"], result["max"], result["verdict"]), (5, 3, "fail"))
        self.assertEqual(sum(s["value"] for s in result["stacks"]), 5)

    def test_baseline(self):
        out, _ = memhawk("check", self.path, "--baseline", self.path)
        self.assertIn("passed: 5 limits", out)
        out, _ = memhawk("check", self.added, "--baseline", self.path, "--format", "json", expect=1)
        results = {(r["limit"], r["statistic"]): r for r in json.loads(out)["results"]}
        failed = results["max-allocations", "median"]
        self.assertEqual((failed["figure"], failed["baseline"], failed["max"]), (5, 3, 3))
        self.assertEqual([f["function"] for f in failed["stacks"][0]["frames"]][:3],
                         ["make_key", "insert", "parse"])
        self.assertEqual(failed["stacks"][0]["change"], 2)
        self.assertEqual(results["max-live-at-end", "median"]["verdict"], "pass")
        # 523 -> 603 bytes is 15.3 %, 3 -> 5 allocations 66.7 %
        memhawk("check", self.added, "--baseline", self.path, "--tolerance", "66%", expect=1)
        memhawk("check", self.added, "--baseline", self.path, "--tolerance", "67%")
        memhawk("check", self.path, "--baseline", self.added)

    def test_budget(self):
        good = self.budget('max-peak = "1 MiB"\n[parse]\nmax-allocations = 3\nmax-bytes = 523\n')
        self.assertIn("passed: 3 limits", memhawk("check", self.path, "--budget", good)[0])
        out, _ = memhawk("check", self.added, "--budget", good, expect=1)
        self.assertIn("2 exceeded", out)
        _, error = memhawk("check", self.path, "--budget",
                           self.budget("[parse]\nmax-alocations = 3\n"), expect=2)
        self.assertIn("budget.toml:2: unknown key \"max-alocations\"; did you mean "
                      "max-allocations?", error)
        self.assertEqual(error.count("\n"), 1)
        out, _ = memhawk("check", self.path, "--budget",
                         self.budget("[nope]\nmax-bytes = 3\n"), expect=2)
        self.assertIn("no such window", out)
        # a limit that fails wins over one that cannot be told
        memhawk("check", self.path, "--budget",
                self.budget("[nope]\nmax-bytes = 3\n[parse]\nmax-bytes = 3\n"), expect=1)

    def test_unknown_windows_are_told_with_the_known_ones(self):
        out, _ = memhawk("check", self.path, "--budget",
                         self.budget("[Parse]\nmax-bytes = 3\n"), expect=2)
        self.assertIn("window Parse: bytes, at most 3 B: could not tell: the profile has no such "
                      "window: it has parse\n", out)
        _, error = memhawk("check", self.path, "--budget", WORK, expect=2)
        self.assertEqual(error.count("\n"), 1, error)
        _, error = memhawk("check", self.path, "--budget", self.budget("[parse]\n"), expect=2)
        self.assertIn("budget.toml:1: section \"parse\" has no limit", error)

    def test_lines_fit_a_terminal(self):
        source = os.path.join(WORK, "quite_a_long_name_of_a_file.cc")
        shutil.copy(os.path.join(SOURCES, "lambdas.cc"), source)
        path = profile(build(source, "long_lines", "g++", ("-O0",)))[1]
        out, _ = memhawk("check", path, "--window", "parse", "--max-bytes", "1", expect=1)
        self.assertIn("quite_a_long_name_of_a_file.cc:", out)
        self.assertLessEqual(max(len(line) for line in out.splitlines()), 80, out)
        out, _ = memhawk("report", path, "--window", "parse", "--per-iteration")
        self.assertIn("  quite_a_long_name_of_a_file.cc\n", out)

    def test_peak_of_a_window_says_what_its_stacks_are(self):
        out, _ = memhawk("check", self.path, "--window", "parse", "--max-peak", "3", expect=1)
        self.assertIn("      512 B allocated in the iteration\n", out)

    def test_formats(self):
        budget = self.budget("[parse]\nmax-allocations = 4\nmax-live-at-end = 0\n[nope]\n"
                             "max-bytes = 1\n")
        out, _ = memhawk("check", self.added, "--budget", budget, "--format", "junit", expect=1)
        suite = ElementTree.fromstring(out)
        self.assertEqual((suite.get("tests"), suite.get("failures"), suite.get("errors")),
                         ("3", "1", "1"))
        self.assertIn("make_key", suite.find("testcase/failure").text)
        out, _ = memhawk("check", self.added, "--budget", budget, "--format", "github", expect=1)
        lines = out.splitlines()
        self.assertEqual(len(lines), 2)
        self.assertRegex(lines[0], r"^::error file=[^,]*key\.c,line=\d+,title=memhawk check::window "
                                   r"parse, worst iteration: allocations 5, at most 4%0A")
        self.assertTrue(lines[1].startswith("::warning "))

    def test_run_with_check(self):
        folder = tempfile.mkdtemp(dir=WORK)
        program = os.path.join(WORK, "key_added")

        def run(budget, *command):
            return subprocess.run([OPTIONS.memhawk, "run", "-o", folder, "--quiet", "--check",
                                   self.budget(budget), "--", *command], stderr=subprocess.PIPE,
                                  text=True, timeout=60,
                                  env={**os.environ, "MEMHAWK_LIB": OPTIONS.library})
        good, bad = "[parse]\nmax-allocations = 5\n", "[parse]\nmax-allocations = 4\n"
        done = run(good, program)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("passed: 1 limit", done.stderr)
        done = run(bad, program)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("make_key", done.stderr)
        # through a shell that becomes the program; a failing program's status counts first
        self.assertEqual(run(bad, "/bin/sh", "-c", "exec " + program).returncode, 1)
        self.assertEqual(run(bad, "/bin/sh", "-c", program + "; exit 7").returncode, 7)
        done = run("[other]\nmax-allocations = 4\n", program)
        self.assertEqual(done.returncode, 2)
        self.assertNotIn("the run has left", done.stderr)
        # windows of a child: what the shell's profile lacks, another may have
        done = run(good, "/bin/sh", "-c", program + "; exit 0")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("the run has left 1 more, of other processes", done.stderr)
        done = run("max-alocations = 4\n", program)
        self.assertEqual(done.returncode, 2)
        self.assertIn(":1: unknown key", done.stderr)

    def test_could_not_tell(self):
        for args in (("/nonexistent", "--max-peak", "1"), (self.path,),
                     (self.path, "--window", "x", "--max-peak", "1"),
                     (self.path, "--max-peak", "1XB"), (self.path, "--tolerance", "1%",
                                                        "--max-peak", "1"),
                     (self.path, "--baseline", "/nonexistent"),
                     (self.path, "--max-peak", "1", "--format", "x")):
            _, error = memhawk("check", *args, expect=2)
            self.assertEqual(error.count("\n"), 1, error)
        cut = profile(build("misuse.c"), "kill", expect=-9)[1]
        memhawk("check", cut, "--max-peak", "1GiB", expect=2)
        memhawk("check", cut, "--max-allocations", "0", expect=1)


def main():
    global OPTIONS, WORK
    parser = argparse.ArgumentParser()
    parser.add_argument("--memhawk", required=True)
    parser.add_argument("--library", required=True)
    parser.add_argument("--include", required=True)
    OPTIONS, rest = parser.parse_known_args()
    WORK = tempfile.mkdtemp(prefix="memhawk_windows_")
    os.environ["XDG_CACHE_HOME"] = os.path.join(WORK, "cache")
    try:
        unittest.main(argv=[sys.argv[0], *rest])
    finally:
        shutil.rmtree(WORK, ignore_errors=True)


if __name__ == "__main__":
    main()
