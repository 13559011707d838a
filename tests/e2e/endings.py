# SPDX-License-Identifier: Apache-2.0
"""Ends of processes that are races, or need a world of their own: two threads that end the process
at once, a fatal signal amid a window call, process 1 of a namespace."""
import os
import shutil
import signal
import subprocess

import harness
from harness import Config, Skip

ROUNDS = 12
LIMIT_S = 8  # for a process that gets a fatal signal; the locks that it may hold cost two


def program(name):
    path = os.path.join(Config.programs, name)
    if not Config.lib or not os.path.exists(path):
        raise Skip("no --lib" if not Config.lib else path + " was not built")
    return path


def site_figures(profile, site):
    """(count, bytes) of the stacks whose innermost frame in a program of ours is that function."""
    rows = []
    for stack, summary in profile.state.items():
        own = [name for module, name in profile.names(stack)
               if module.startswith(Config.programs)]
        if own and own[0] == site:
            rows.append(summary)
    return sum(row.count for row in rows), sum(row.bytes for row in rows)


# How each way ends: wait status as Popen has it, and end of run in the file.
ENDS = {"exit": (3, "exit"), "_exit": (4, "_exit"), "quick_exit": (5, "quick_exit"),
        "abort": (-signal.SIGABRT, "abort")}


def two_ends(first, second):
    """The process ends in one of the two ways, and the file has its last snapshot. Whose end it
    tells is open: the one that was first at the recorder may be last at the kernel."""
    ret = []
    bench = harness.Bench("two_ends", 20)
    try:
        for i in range(ROUNDS):
            run = bench.run([program("two_ends"), first, second, str(i)], "memhawk")
            statuses, ends = zip(ENDS[first], ENDS[second])
            if run.status not in statuses or len(run.profiles) != 1:
                ret.append("round %d: status %d, %d files" % (i, run.status, len(run.profiles)))
                continue
            profile = run.profiles[0]
            ret += ["round %d: %s" % (i, c) for c in harness.consistent(profile)]
            if profile.end not in ends:
                ret.append("round %d: end of run is %s" % (i, profile.end))
            figures = site_figures(profile, "site_before")
            if figures != (10, 1000):
                ret.append("round %d: site_before has %s" % (i, figures))
    finally:
        bench.close()
    return ret[:6]


def window_fatal(scope):
    ret = []
    bench = harness.Bench("window_fatal", LIMIT_S)
    try:
        for i in range(ROUNDS):
            argv = [program("window_fatal"), scope, str(i * 137)]
            run = bench.run(argv, "memhawk")  # Failure when it takes too long
            if run.status != -signal.SIGTERM:
                ret.append("round %d: status %d, expected SIGTERM" % (i, run.status))
            # Where the thread holds what the writer needs, there is no last snapshot.
            ret += ["round %d: %s" % (i, c) for profile in run.profiles if profile.snapshots
                    for c in harness.consistent(profile)]
    finally:
        bench.close()
    return ret[:6]


def init_process():
    """Signals that process 1 does not handle are dropped, with the recorder as without."""
    unshare = shutil.which("unshare")
    if not unshare:
        raise Skip("unshare is not installed")
    namespace = [unshare, "-p", "-f", "--mount-proc"]
    allowed = subprocess.run(namespace + ["/bin/true"], check=False, stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE, text=True)
    if allowed.returncode != 0:
        raise Skip("no namespace of processes: " + allowed.stderr.strip())
    bench = harness.Bench("init_process", 20)
    try:
        argv = namespace + [program("init_process")]
        plain, ours = bench.run(argv, "plain"), bench.run(argv, "memhawk")
        if plain.status != 7:
            return ["plain run ends with %d: %s" % (plain.status, harness.clip(plain.stderr))]
        ret = harness.same_output(plain, ours)
        found = [p for p in ours.profiles if p.full_path.endswith("/init_process")]
        if len(found) != 1:
            return ret + ["%d profiles of process 1" % len(found)]
        profile = found[0]
        ret += harness.consistent(profile)
        if (profile.pid, profile.end, profile.status) != (1, "exit", 7):
            ret.append("pid %d, end %s %d" % (profile.pid, profile.end, profile.status))
        for site, want in (("site_before", (10, 1000)), ("site_after", (6, 120))):
            if site_figures(profile, site) != want:
                ret.append("%s has %s" % (site, site_figures(profile, site)))
        return ret
    finally:
        bench.close()


def tests():
    pairs = [("exit", "_exit"), ("_exit", "exit"), ("abort", "exit"), ("_exit", "abort"),
             ("quick_exit", "_exit"), ("_exit", "_exit")]
    ret = [("two_ends:%s-%s" % pair, lambda p=pair: two_ends(*p)) for pair in pairs]
    ret += [("window_fatal:" + scope, lambda s=scope: window_fatal(s))
            for scope in ("thread", "process")]
    return ret + [("init_process", init_process)]
