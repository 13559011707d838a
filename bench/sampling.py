# SPDX-License-Identifier: Apache-2.0
"""Alternating runs: the variants under which a workload runs, and the loop that samples them.

One round runs every variant once, in an order that turns by one each round, so that a slow drift of
the machine hits all alike. Ratios are always between samples of the same loop. The noise floor is
measured, not assumed: "again" is a second plain run in every round, and its ratio to plain is what
no change at all looks like.
"""
import os
import shutil
import statistics
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
OUT = os.path.join(HERE, "out")

HEAPTRACK_PRELOAD = "/usr/lib/heaptrack/libheaptrack_preload.so"


class Variant:
    """One way to run a program. `every`: takes part in each nth round only, for the slow ones."""

    def __init__(self, name, title, every=1, needs=None):
        self.name, self.title, self.every, self.needs = name, title, every, needs

    def available(self):
        return self.needs is None or os.path.exists(self.needs)

    def environment(self, setup, scratch):
        del setup, scratch
        return {}

    def command(self, command, scratch):
        del scratch
        return command


class MemHawk(Variant):
    def __init__(self, name="memhawk", title="MemHawk", **environment):
        super().__init__(name, title)
        self.extra = environment

    def environment(self, setup, scratch):
        return {"LD_PRELOAD": setup.library, "MEMHAWK_OUTPUT": scratch, **self.extra}


class Heaptrack(Variant):
    def command(self, command, scratch):
        return ["heaptrack", "-o", os.path.join(scratch, "heaptrack"), *command]


class Preload(Variant):
    def __init__(self, name, title, library, environment, every=1):
        super().__init__(name, title, every, needs=library)
        self.extra = environment

    def environment(self, setup, scratch):
        extra = {key: value.format(scratch=scratch) for key, value in self.extra.items()}
        return {"LD_PRELOAD": self.needs, **extra}


LIBRARIES = "/usr/lib/x86_64-linux-gnu/"
VARIANTS = {variant.name: variant for variant in [
    Variant("plain", "plain"),
    Variant("again", "plain again"),
    MemHawk(),
    Heaptrack("heaptrack", "heaptrack", every=3, needs="/usr/bin/heaptrack"),
    Preload("heaptrack-preload", "heaptrack's preload alone", HEAPTRACK_PRELOAD,
            {"DUMP_HEAPTRACK_OUTPUT": "/dev/null"}, every=3),
    Preload("jemalloc", "jemalloc, sampling", LIBRARIES + "libjemalloc.so.2",
            {"MALLOC_CONF": "prof:true,prof_final:true,lg_prof_sample:19,"
                            "prof_prefix:{scratch}/jeprof"}, every=3),
    Preload("tcmalloc", "tcmalloc's heap profiler", LIBRARIES + "libtcmalloc.so.4",
            {"HEAPPROFILE": "{scratch}/tcmalloc"}, every=9),
]}


class Setup:
    """Where the product and the bench programs are, and how long to measure."""

    def __init__(self, stage, build, rounds, quick):
        self.stage, self.build = os.path.abspath(stage), os.path.abspath(build)
        self.library = os.path.join(self.stage, "lib", "libmemhawk.so")
        self.cli = os.path.join(self.stage, "bin", "memhawk")
        self.rounds, self.quick = rounds, quick

    def program(self, name):
        return os.path.join(self.build, "bench", name)

    def missing(self):
        return [path for path in (self.library, self.cli, self.program("list16"))
                if not os.path.exists(path)]


class Scratch:
    """A folder that lasts for one run; for profiles and other leavings."""

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="memhawk-bench-")
        return self.path

    def __exit__(self, *error):
        shutil.rmtree(self.path, ignore_errors=True)


def base_environment():
    """The user's, less what would make two machines differ."""
    dropped = ("LD_PRELOAD", "PYTHONMALLOC", "MALLOC_CONF", "GLIBC_TUNABLES")
    environment = {key: value for key, value in os.environ.items()
                   if key not in dropped and not key.startswith(("MEMHAWK_", "MALLOC_"))}
    environment["LC_ALL"] = "C"
    return environment


def run_timed(command, environment, cwd, stdin=None):
    """Seconds of wall time; raises when the command fails."""
    with open(stdin or os.devnull, "rb") as source, \
            open(os.path.join(cwd, "stdout"), "wb") as sink:
        start = time.perf_counter()
        process = subprocess.Popen(command, env=environment, cwd=cwd, stdin=source, stdout=sink,
                                   stderr=subprocess.STDOUT)
        status = process.wait()
        seconds = time.perf_counter() - start
    if status != 0:
        with open(os.path.join(cwd, "stdout"), encoding="utf-8", errors="replace") as sink:
            raise RuntimeError(f"{' '.join(command)}: status {status}\n{sink.read()[-2000:]}")
    return seconds


def turned(items, by):
    by %= len(items)
    return items[by:] + items[:by]


def alternate(setup, variants, measure, progress=lambda text: None):
    """{variant name: [samples]} of `measure(variant)` over setup.rounds rounds."""
    samples = {variant.name: [] for variant in variants}
    for round_number in range(setup.rounds):
        taking_part = [v for v in variants if round_number % v.every == 0]
        for variant in turned(taking_part, round_number):
            samples[variant.name].append(measure(variant))
            progress(f"{variant.name} {samples[variant.name][-1]:.4g}")
    return samples


# ---- figures ---------------------------------------------------------------------------------


def ratio(samples, name, figure=statistics.median, base="plain"):
    if not samples.get(name) or not samples.get(base):
        return None
    return figure(samples[name]) / figure(samples[base])


def spread(values):
    """Distance of the quartiles, relative to the median."""
    if len(values) < 4:
        return None
    first, _, third = statistics.quantiles(values, n=4)
    return (third - first) / statistics.median(values)
