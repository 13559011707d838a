# SPDX-License-Identifier: Apache-2.0
"""Tests that need more than one program's directives: what the library exports and needs, other
ways to load it, file names, settings, reading while it grows, and frames beside libunwind."""
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import time

import battery
import frames
import harness
import profile_file
from harness import Config, Failure, Skip

HOOKS = set("""malloc calloc realloc reallocarray free cfree memalign aligned_alloc posix_memalign
valloc pvalloc malloc_usable_size free_sized free_aligned_sized""".split())
# What the recorder may interpose besides: how processes begin, end and load code.
CONTROL = set("""fork _Fork vfork _exit _Exit quick_exit abort exit dlopen dlmopen dlclose execl execlp
execle execv execvp execvpe execve fexecve execveat sigaction signal __sigaction bsd_signal
sysv_signal __sysv_signal ssignal sigset sigvec siginterrupt posix_spawn posix_spawnp system popen
daemon clone pthread_create pthread_exit __libc_start_main __register_atfork""".split())


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            raise Skip("%s is not installed" % program)


def need_library():
    if not Config.lib:
        raise Skip("no --lib")


def output(*argv):
    return subprocess.run(argv, stdout=subprocess.PIPE, check=True, text=True).stdout


def exports():
    """Only hooks and memhawk_* are exported, with the whole family among them."""
    need_library()
    need("nm")
    have = {line.split()[-1].split("@")[0]
            for line in output("nm", "-D", "--defined-only", Config.lib).splitlines()}
    ret = ["exported, but no hook: " + n for n in sorted(have)
           if n not in HOOKS | CONTROL and not n.startswith("memhawk_")]
    return ret + ["not exported: " + n for n in sorted(HOOKS - have)]


def glibc_floor():
    """The highest GLIBC version needed is 2.31; no library but libc and its parts."""
    need_library()
    need("objdump")
    text = output("objdump", "-p", Config.lib)
    versions = [tuple(map(int, v.split("."))) for v in re.findall(r"GLIBC_([\d.]+)", text)]
    needed = re.findall(r"NEEDED\s+(\S+)", text)
    parts = r"lib(c|dl|pthread|rt)\.so\.\d|ld-linux.*"
    ret = ["needs GLIBC_%d.%d" % v[:2] for v in sorted(set(versions)) if v > (2, 31)]
    return ret + ["needs " + n for n in needed if not re.fullmatch(parts, n)]


class Sandbox:
    """A Bench that is closed after the test."""

    def __init__(self, name, timeout=60):
        need_library()
        self.bench = harness.Bench(name, timeout)

    def __enter__(self):
        return self.bench

    def __exit__(self, *unused):
        self.bench.close()


def program(name):
    path = os.path.join(Config.programs, name)
    if not os.path.exists(path):
        raise Skip(path + " was not built")
    return path


def static_program():
    """A static program is untouched."""
    with Sandbox("static") as bench:
        plain = bench.run([program("static_program")], "plain")
        ours = bench.run([program("static_program")], "memhawk")
        return harness.same_output(plain, ours) + [
            "a profile appeared: " + p.path for p in ours.profiles]


LINKED_SOURCE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                             "programs")


def build_linked(bench, runpath=True):
    target = os.path.join(bench.base, "linked")
    library = os.path.realpath(bench.lib)
    subprocess.run(["cc", "-O2", "-g", "-fno-builtin", "-fno-optimize-sibling-calls", "-o", target,
                    os.path.join(LINKED_SOURCE, "linked.c"), "-Wl,--no-as-needed", library]
                   + (["-Wl,-rpath," + os.path.dirname(library)] if runpath else []), check=True)
    return target


def known_figures(run):
    """Of linked.c: 123 blocks of 10 bytes at site_work, exit status 5."""
    if run.status != 5 or not run.stdout.startswith("uid "):
        return ["the program ended with %d: %s" % (run.status, harness.clip(run.stderr))]
    if len(run.profiles) != 1:
        return ["%d profiles" % len(run.profiles)]
    profile = run.profiles[0]
    ret = harness.consistent(profile)
    count = sum(s.count for stack, s in profile.state.items()
                if any(name == "site_work" for _, name in profile.names(stack)))
    return ret + ([] if count == 123 else ["site_work: %d blocks, expected 123" % count])


def linked():
    """Linked like any library, not preloaded."""
    need("cc")
    with Sandbox("linked") as bench:
        return known_figures(bench.run([build_linked(bench)], "memhawk", preload=""))


def linked_and_preloaded():
    """Both at once: still one recorder, nothing counted twice."""
    need("cc")
    with Sandbox("linked2") as bench:
        return known_figures(bench.run([build_linked(bench)], "memhawk",
                                       preload=os.path.realpath(bench.lib)))


def patchelf():
    """Added to a finished program by patchelf --add-needed."""
    need("patchelf")
    with Sandbox("patchelf") as bench:
        target = os.path.join(bench.base, "linked")
        shutil.copy(program("linked"), target)
        subprocess.run(["patchelf", "--add-needed", os.path.realpath(bench.lib), target],
                       check=True)
        return known_figures(bench.run([target], "memhawk", preload=""))


def setuid():
    """A setuid program that carries the library does nothing with it: no file, no output."""
    need("cc", "setpriv")
    if os.geteuid() != 0:
        raise Skip("needs root")
    with Sandbox("setuid") as bench:
        target = build_linked(bench)
        os.chmod(bench.base, 0o777)
        library_folder = os.path.dirname(os.path.realpath(bench.lib))
        if not all_can_read(library_folder):
            raise Skip("%s is not readable for other users" % library_folder)
        os.chown(target, 0, 0)
        os.chmod(target, 0o4755)
        bench.prepare = lambda folder: os.chmod(folder, 0o777)
        run = bench.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", target],
                        "memhawk", preload="")
        ret = ["a profile appeared: " + p.path for p in run.profiles]
        if run.stdout != "uid 65534, euid 0\n" or run.status != 5 or run.stderr:
            ret.append("unexpected: status %d, %r, %r" % (run.status, run.stdout, run.stderr))
        return ret


def all_can_read(folder):
    while folder != "/":
        if not os.stat(folder).st_mode & stat.S_IXOTH:
            return False
        folder = os.path.dirname(folder)
    return True


def name_taken():
    """A file or symbolic link of our name is never touched: the profile gets another name."""
    ret = []
    for kind, setup in (("file", "echo precious > $N"), ("link", "ln -s ../victim $N")):
        with Sandbox("name") as bench:
            script = ("N=memhawk_linked_$$_protobuf.binpb; %s; LD_PRELOAD=%s exec %s"
                      % (setup, bench.lib, program("linked")))
            run = subprocess.run(["sh", "-c", script], cwd=bench.base, text=True,
                                 env={"PATH": "/usr/bin:/bin"}, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, check=False)
            names = sorted(n for n in os.listdir(bench.base) if n.startswith("memhawk_"))
            if run.returncode != 5 or len(names) != 2:
                ret.append("%s: status %d, files %s" % (kind, run.returncode, names))
                continue
            if os.path.exists(os.path.join(bench.base, "victim")):
                ret.append("the link was followed")
            plain = [n for n in names if re.fullmatch(r"memhawk_linked_\d+_protobuf\.binpb", n)]
            with open(os.path.join(bench.base, plain[0]), encoding="utf-8") if kind == "file" \
                    else open(os.devnull, encoding="utf-8") as f:
                if kind == "file" and f.read() != "precious\n":
                    ret.append("the file was touched")
    return ret


def no_place():
    """A folder where no file can be made: the program runs as if nothing were."""
    if os.geteuid() != 0:
        raise Skip("needs root")
    need("setpriv")
    with Sandbox("noplace") as bench:
        os.chmod(bench.base, 0o755)
        if not all_can_read(os.path.dirname(os.path.realpath(bench.lib))) \
                or not all_can_read(Config.programs):
            raise Skip("the build folder is not readable for other users")
        argv = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", program("linked")]
        plain = bench.run(argv, "plain")
        ours = bench.run(argv, "memhawk")
        ours = ours._replace(stderr="") if ours.stderr.count("\n") <= 1 else ours
        return harness.same_output(plain, ours)


def wrong_settings():
    """A wrong value of a setting: one line and the default; the program is not disturbed."""
    ret = []
    for name, value in (("MEMHAWK_INTERVAL_MS", "soon"), ("MEMHAWK_DEPTH", "100000"),
                        ("MEMHAWK_UNWIND", "maybe"), ("MEMHAWK_FOLLOW", "*[")):
        with Sandbox("settings") as bench:
            bench.extra_env = {name: value}
            run = bench.run([program("linked")], "memhawk")
            if run.stderr.count("\n") != 1 or name not in run.stderr:
                ret.append("%s=%s: stderr is %r" % (name, value, run.stderr))
            ret += known_figures(run)
    return ret


def settings():
    """Folder, filter and follow do what they say."""
    ret = []
    with Sandbox("folder") as bench:
        place = os.path.join(bench.base, "place")
        os.mkdir(place)
        bench.extra_env = {"MEMHAWK_OUTPUT": place}
        run = bench.run([program("linked")], "memhawk")
        ret += known_figures(run)
        if not all(os.path.dirname(p.path) == place for p in run.profiles):
            ret.append("MEMHAWK_OUTPUT: the profile is elsewhere")
    for value, expected in (("linked", 1), ("something-else", 0)):
        with Sandbox("filter") as bench:
            bench.extra_env = {"MEMHAWK_NAME_FILTER": value}
            run = bench.run([program("linked")], "memhawk")
            if len(run.profiles) != expected or run.status != 5:
                ret.append("MEMHAWK_NAME_FILTER=%s: %d profiles" % (value, len(run.profiles)))
    for value, expected in (("none", 1), ("all", 2)):
        with Sandbox("follow") as bench:
            bench.extra_env = {"MEMHAWK_FOLLOW": value}
            run = bench.run([program("fork_kinds"), "goes_on"], "memhawk")
            if len(run.profiles) != expected or run.status != 0:
                ret.append("MEMHAWK_FOLLOW=%s: %d profiles" % (value, len(run.profiles)))
    return ret


def depth():
    """MEMHAWK_DEPTH cuts stacks and says so; up to 256."""
    ret = []
    for limit in (4, 256):
        with Sandbox("depth") as bench:
            bench.extra_env = {"MEMHAWK_DEPTH": str(limit)}
            run = bench.run([program("deep"), "line"], "memhawk")
            if not run.profiles:
                return ["no profile"]
            deepest = max(len(s) for s in run.profiles[0].stacks.values())
            if deepest != limit:
                ret.append("MEMHAWK_DEPTH=%d: the deepest stack has %d frames" % (limit, deepest))
    return ret


def while_it_grows():
    """The file is a valid prefix at any time, and after SIGKILL in the middle."""
    with Sandbox("grows") as bench:
        ret, seen = [], set()

        def watch(folder):
            for _ in range(60):
                for path in bench.profile_paths():
                    try:
                        seen.add(len(profile_file.Profile(path).snapshots))
                    except profile_file.BadFile as error:
                        if os.path.getsize(path) > 4096:
                            ret.append(str(error))
                time.sleep(0.02)
            return ""
        bench.extra_env = {"MEMHAWK_INTERVAL_MS": "50"}
        run = bench.run([program("peaks"), "steady"], "memhawk", during=watch)
        if len(seen) < 5:
            ret.append("the file grew only %d times within 1.2 s at an interval of 50 ms"
                       % len(seen))
        return ret + [c for p in run.profiles for c in harness.consistent(p)]


def killed():
    """SIGKILL loses at most the last tick."""
    with Sandbox("killed") as bench:
        bench.extra_env = {"MEMHAWK_INTERVAL_MS": "100"}

        def kill(folder):
            time.sleep(0.8)
            for path in bench.profile_paths():
                os.kill(int(path.split("_")[-2]), signal.SIGKILL)
            return ""
        run = bench.run([program("peaks"), "steady"], "memhawk", during=kill)
        if run.status != -signal.SIGKILL or len(run.profiles) != 1:
            return ["status %d, %d profiles" % (run.status, len(run.profiles))]
        profile = run.profiles[0]
        ret = harness.consistent(profile, killed=True)
        last = profile.snapshots[-1].time - profile.start
        if last < 500e6:
            ret.append("the last snapshot is of %d ms" % (last / 1e6))
        return ret


def json_peak():
    """memhawk report --format json --at peak agrees with the known composition."""
    if not Config.memhawk:
        raise Skip("no --memhawk")
    with Sandbox("json") as bench:
        run = bench.run([program("peaks"), "short"], "memhawk")
        text = output(Config.memhawk, "report", run.profiles[0].path.replace(
            bench.work, run.folder), "--at", "peak", "--format", "json")
        data = json.loads(text)
        want = {"site_base": 10 << 20, "site_a": 30 << 20, "site_b": 20 << 20}
        have = dict.fromkeys(want, 0)
        for stack in data["stacks"]:
            names = [f.get("function") for f in stack["frames"]]
            metrics = stack.get("metrics") or stack.get("values") or stack
            for name in want:
                if name in names:
                    have[name] += metrics.get("live_bytes", metrics.get("live-bytes", 0))
        return ["%s: %d, expected %d" % (n, have[n], want[n]) for n in want
                if abs(have[n] - want[n]) > 1 << 20]


def replaced_file():
    """A library that was replaced on disk: its frames never get the new file's names."""
    if not Config.memhawk:
        raise Skip("no --memhawk")
    with Sandbox("replaced") as bench:
        bench.extra_env = {"PROGRAMS": Config.programs}
        run = bench.run([program("module_kinds"), "replaced"], "memhawk")
        path = run.profiles[0].path.replace(bench.work, run.folder)
        shutil.copytree(run.folder, bench.work)  # where the module's path leads to beta now
        text = output(Config.memhawk, "report", path, "--format", "json", "--at", "end")
        return ["the report names beta_alloc, which never ran"] if "beta_alloc" in text else []


def frame_truth(names, every, least):
    library = os.path.join(os.path.dirname(Config.oracle), "libstacks.so")
    if not os.path.exists(library):
        raise Skip("libunwind is not installed")
    tally = frames.Tally()
    for name in names:
        bench, before = harness.Bench("frames-" + name, 240), tally.sums["marked"]
        try:
            if name in battery.CASES:
                case = battery.CASES[name]
                if not os.path.exists(case.argv[0]):
                    continue
                bench.prepare, bench.extra_env = case.prepare, dict(case.env)
                run = frames.measure(bench, case.argv, library, tally, every, case.stdin,
                                     case.during)
                wanted = case.status
            else:
                words = name.split()
                bench.extra_env = {"PROGRAMS": Config.programs}
                run = frames.measure(bench, [program(words[0])] + words[1:], library, tally, every)
                wanted = 0
            if run.status != wanted:
                raise Failure("%s ended with %d: %s" % (name, run.status,
                                                       harness.clip(run.stderr)))
        finally:
            bench.close()
        if name == "node":
            tally.sums["marked"] = before  # code of its JIT has no tables: documented
    print("# frames: " + tally.text(), flush=True)
    return frames.complaints(tally, least)


TRAP_PROGRAMS = ["shape_O0", "shape_O1", "shape_O2", "shape_O3", "shape_Os", "shape_fp",
                 "shape_lto", "shape_nopie", "shape_clang", "shape_lld", "throws", "jumps",
                 "deep line", "deep mutual", "fibers own", "threads short", "odd_code garbage_fp",
                 "odd_code realigned", "odd_code noreturn", "odd_code saved", "odd_code binding", "altstack", "module_kinds many",
                 "module_kinds elsewhere", "sigprof leaf", "sigprof vdso", "counting"]


def zygote():
    """Chromium's zygote ends when it has a second thread: it has none of ours, and no profile."""
    ret = []
    count = 'import os; print(len(os.listdir("/proc/self/task")))'
    for argument, threads, profiles in (("--type=zygote", "1\n", 0), ("--type=zygotes", "2\n", 1)):
        with Sandbox("zygote") as bench:
            run = bench.run(["/usr/bin/python3", "-c", count, argument], "memhawk")
            if (run.status, run.stdout, len(run.profiles)) != (0, threads, profiles):
                ret.append("%s: status %d, threads %r, %d profiles" %
                           (argument, run.status, run.stdout, len(run.profiles)))
    return ret


def tests():
    plain = [exports, glibc_floor, static_program, linked, linked_and_preloaded, patchelf, setuid,
             name_taken, no_place, wrong_settings, settings, depth, while_it_grows, killed,
             json_peak, replaced_file, zygote]
    ret = [(f.__name__, f) for f in plain]
    ret.append(("frames_traps", lambda: frame_truth(TRAP_PROGRAMS, 2, 300000)))
    ret.append(("frames_real", lambda: frame_truth(
        ["sqlite3", "perl", "python_json", "git_log", "git_gc", "gxx_regex", "bash", "cmake",
         "objdump", "node", "redis"], 3, 700000)))
    return ret
