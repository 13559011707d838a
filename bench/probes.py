# SPDX-License-Identifier: Apache-2.0
"""Measurements that are no ratio of two times: memory, file size, time of a report, scaling curve.

Each probe returns a list of rows {"what", "figure", "unit", "bar"}, bar None where there is none;
a figure above its bar is a miss.
"""
import glob
import json
import os
import re
import statistics
import subprocess

from sampling import ROOT, MemHawk, Scratch, VARIANTS, alternate, base_environment, run_timed
from workloads import PROFILES, keep_profile

MIB = 1 << 20
FRAMES_BELOW = 4  # _start, __libc_start_main and its helper, main


def footprint(setup, variant, mode, count):
    """What bench/footprint prints, as a dictionary of integers."""
    with Scratch() as scratch:
        environment = {**base_environment(), **variant.environment(setup, scratch)}
        run_timed([setup.program("footprint"), mode, str(count)], environment, scratch)
        with open(os.path.join(scratch, "stdout"), encoding="utf-8") as output:
            return {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", output.read())}


def extra_bytes(setup, mode, count, rounds):
    """RSS with the profiler less RSS without, median over the rounds; and the plain figures."""
    extras, plain = [], None
    for _ in range(rounds):
        plain = footprint(setup, VARIANTS["plain"], mode, count)
        profiled = footprint(setup, MemHawk(), mode, count)
        extras.append(profiled["rss_bytes"] - plain["rss_bytes"])
    return statistics.median(extras), plain


def row(what, figure, unit, bar=None):
    return {"what": what, "figure": figure, "unit": unit, "bar": bar}


def memory_mode(setup, mode, few, many, rounds):
    low, _ = extra_bytes(setup, mode, few, rounds)
    high, plain = extra_bytes(setup, mode, many, rounds)
    return low, high, (high - low) / (many - few), plain


def probe_memory(setup):
    """The issue's formula: 24 MiB, 8 bytes per 32-byte granule of heap, 120 and 8 per frame for each
    stack, 80 for each stack and thread. Whole figures are held to it; slopes are shown beside."""
    rounds = 1 if setup.quick else 3
    rows = []
    few, many = 100_000, 2_100_000
    low, high, slope, plain = memory_mode(setup, "blocks", few, many, rounds)
    granules = plain["heap_bytes"] / 32
    per_granule = slope * many / granules  # the heap is a little more than the blocks
    rows += [row(f"{many:,} live blocks of 32 bytes", high / MIB, "MiB",
                 (24 * MIB + 8 * granules) / MIB),
             row("fixed part", (low - slope * few) / MIB, "MiB", 24),
             row("each granule of 32 bytes", round(per_granule, 2), "bytes", 8)]

    few, many = 1_000, 101_000
    low, high, slope, plain = memory_mode(setup, "stacks", few, many, rounds)
    per_stack = 120 + 8 * (plain["frames"] + FRAMES_BELOW) + 80
    rows += [row(f"{many:,} stacks of {plain['frames']} frames", high / MIB, "MiB",
                 (24 * MIB + many * per_stack) / MIB),
             row(f"each stack of {plain['frames']} frames, used by one thread", slope, "bytes",
                 per_stack)]

    few, many, stacks = 2, 66, 512
    low, high, slope, plain = memory_mode(setup, "threads", few, many, rounds)
    bound = 24 * MIB + 8 * plain["heap_bytes"] / 32 + stacks * per_stack + many * stacks * 80
    rows += [row(f"{many} threads, each using the same {stacks} stacks", high / MIB, "MiB",
                 bound / MIB),
             row("each thread", slope / 1024, "KiB"),
             row("each stack and thread", slope / stacks, "bytes")]
    return rows


def probe_file_size(setup):
    seconds = 2 if setup.quick else 10
    with Scratch() as scratch:
        environment = {**base_environment(), **MemHawk().environment(setup, scratch)}
        run_timed([setup.program("frames24"), "-s", str(seconds)], environment, scratch)
        size = sum(map(os.path.getsize, glob.glob(os.path.join(scratch, "*.binpb"))))
        keep_profile("frames24-long", scratch)
    return [row(f"file of {seconds} s of frames24", size / MIB, "MiB", 5)]


def probe_report(setup):
    """`memhawk report` on the profiles that the workloads left: cold and warm symbol cache."""
    rows = []
    for profile in sorted(glob.glob(os.path.join(PROFILES, "*.binpb"))):
        name = os.path.basename(profile)[:-len(".binpb")]
        with Scratch() as scratch:
            environment = {**base_environment(), "XDG_CACHE_HOME": os.path.join(scratch, "cache")}
            command = [setup.cli, "report", profile]
            cold = run_timed(command, environment, scratch)
            warm = [run_timed(command, environment, scratch) for _ in range(3)]
        rows += [row(f"report on {name}, cold", cold, "s", 3),
                 row(f"report on {name}, cached", statistics.median(warm), "s", 1)]
    return rows


def probe_scaling(setup):
    """The same 20 million pairs on 1 to 64 threads: ratio to plain at each number of threads."""
    pairs = 4_000_000 if setup.quick else 20_000_000
    rows = []
    for threads in (1, 2, 4, 8, 16, 32, 64):
        def measure(variant, threads=threads):
            with Scratch() as scratch:
                environment = {**base_environment(), **variant.environment(setup, scratch)}
                return run_timed([setup.program("scaling"), str(threads), str(pairs)],
                                 environment, scratch)
        samples = alternate(setup, [VARIANTS["plain"], VARIANTS["memhawk"]], measure)
        plain, ours = (statistics.median(samples[name]) for name in ("plain", "memhawk"))
        rows.append({**row(f"{threads} threads", ours / plain, "ratio"),
                     "plain_ns": plain * 1e9 / pairs, "ours_ns": ours * 1e9 / pairs})
    return rows


def probe_page(setup):
    """The live page in Chromium: bench/page_bench.mjs, which prints rows."""
    command = [os.path.join(ROOT, "tests", "web", "run"), "../../bench/page_bench.mjs", "--build",
               setup.build, "--memhawk", setup.cli, "--library", setup.library]
    done = subprocess.run(command + (["--quick"] if setup.quick else []), stdout=subprocess.PIPE,
                          text=True, check=True, env=base_environment())
    return json.loads(done.stdout)


PROBES = {"memory": probe_memory, "file-size": probe_file_size, "report": probe_report,
          "scaling": probe_scaling, "page": probe_page}
