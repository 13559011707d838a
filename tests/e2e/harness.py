# SPDX-License-Identifier: Apache-2.0
"""Runs one command plain, under the oracle and under MemHawk, and compares.

Everything happens in a folder of the test's own. The three runs see the same working folder path,
the same environment and preload paths of the same length, so that a program which copies its
environment allocates the same bytes in all of them. Where a program keeps tables of inode numbers
(all that walk a tree with gnulib's fts: grep, find), the runs see the same files too: prepared.py.
"""
import collections
import ctypes
import glob
import os
import resource
import shutil
import signal
import stat
import struct
import subprocess
import tempfile
import time

import prepared
import profile_file

HERE = os.path.dirname(os.path.abspath(__file__))
ORACLE_FORMAT = struct.Struct("<14Q128s")
ORACLE_FIELDS = ("magic pid parent count bytes free_count free_bytes live_count live_bytes "
                 "inherited_count inherited_bytes temporary peak_bytes unknown_frees exe")
Oracle = collections.namedtuple("Oracle", ORACLE_FIELDS)
Run = collections.namedtuple("Run", "status stdout stderr profiles oracles seconds folder")


class Failure(Exception):
    pass


class Skip(Exception):
    pass


class Config:
    lib = oracle = programs = memhawk = None
    keep = False


def read_oracle(path):
    with open(path, "rb") as f:
        row = list(ORACLE_FORMAT.unpack(f.read(ORACLE_FORMAT.size)))
    row[-1] = row[-1].rstrip(b"\0").decode()
    return Oracle(*row)


class Bench:
    """The folder of one test: runs commands in it, keeps what they left."""

    def __init__(self, name, timeout=60):
        self.name, self.timeout = name, timeout
        self.base = tempfile.mkdtemp(prefix="mh-%s-" % name.replace(":", "-").replace("/", "-"))
        self.work = os.path.join(self.base, "w")
        self.prepare = lambda folder: None
        self.shared = None  # of all runs: prepared.Shared
        self.extra_env, self.fixed_addresses = {}, False
        os.mkdir(os.path.join(self.base, "l"))
        self.lib = os.path.join(self.base, "l", "libmemhawk.so")
        self.oracle_lib = os.path.join(self.base, "l", "liboracle1.so")
        if Config.lib:
            os.symlink(Config.lib, self.lib)
        if Config.oracle:
            os.symlink(Config.oracle, self.oracle_lib)

    def close(self):
        if not Config.keep:
            subprocess.run(["chmod", "-R", "u+rwX", self.base], check=False,
                           stderr=subprocess.DEVNULL)
            shutil.rmtree(self.base, ignore_errors=True)

    def environment(self, preload):
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": self.work,
               "LANG": "C.UTF-8", "TZ": "UTC", "TMPDIR": self.base,
               "ORACLE_PREFIX": os.path.join(self.base, "o", "x")}
        env.update(self.extra_env)
        if preload:
            env["LD_PRELOAD"] = preload
        return env

    def run(self, argv, mode, preload=None, stdin=None, during=None):
        """mode: plain, oracle or memhawk. `preload` overrides the LD_PRELOAD of the mode; `stdin`
        is bytes; `during(folder)` runs while the program does, its text counts as output."""
        if preload is None:
            preload = {"plain": "", "oracle": self.oracle_lib, "memhawk": self.lib}[mode]
        self.make_folders()
        streams = [open(os.path.join(self.base, "%s.%s" % (mode, s)), "w+b") for s in ("out", "err")]
        source = tempfile.TemporaryFile()
        source.write(stdin or b"")
        source.seek(0)
        began = time.monotonic()
        process = subprocess.Popen(argv, cwd=self.work, env=self.environment(preload),
                                   stdin=source, stdout=streams[0], stderr=streams[1],
                                   start_new_session=True, preexec_fn=self.child_settings)
        source.close()
        said = ""
        try:
            if during:
                said = during(self.work)
            status = process.wait(self.timeout)
        except (subprocess.TimeoutExpired, OSError) as error:
            backtrace = where(process.pid)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise Failure("%s run: %s%s" % (mode, error, backtrace))
        seconds = time.monotonic() - began
        texts = []
        for stream in streams:
            stream.seek(0)
            texts.append(stream.read().decode("utf-8", "replace"))
            stream.close()
        kept = os.path.join(self.base, "w." + mode)
        shutil.rmtree(kept, ignore_errors=True)
        profiles, oracles = [], []
        if mode != "plain":
            profiles = [self.profile(p) for p in self.profile_paths()
                        if "/w.plain/" not in p and "/w.oracle/" not in p]
            profiles.sort(key=lambda p: (p.start, p.pid))
            oracles = [read_oracle(p) for p in glob.glob(os.path.join(self.base, "o", "x.*"))]
        if self.shared:
            try:
                self.shared.take_new(kept)
            except prepared.ChangedFolder as error:
                raise Failure("%s run: %s" % (mode, error))
        else:
            os.rename(self.work, kept)
        return Run(status, texts[0] + said, texts[1], profiles, oracles, seconds, kept)

    def make_folders(self):
        for folder in (self.work, os.path.join(self.base, "o")):
            if folder == self.work and self.shared:
                continue
            shutil.rmtree(folder, ignore_errors=True)
            os.mkdir(folder)
            if folder == self.work:
                self.prepare(folder)

    def share_folder(self):
        """Prepares the working folder now, once; every run works in it. Raises Failure when a run
        changes what was prepared; what it adds is moved to the run's own folder."""
        os.mkdir(self.work)
        self.prepare(self.work)
        self.shared = prepared.Shared(self.work)

    def child_settings(self):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if self.fixed_addresses:
            ctypes.CDLL(None).personality(0x0040000)  # ADDR_NO_RANDOMIZE

    def profile_paths(self):
        return [os.path.join(d, f) for d, _, names in os.walk(self.base) for f in names
                if f.startswith("memhawk_") and f.endswith(".binpb")]

    def profile(self, path):
        if stat.S_IMODE(os.stat(path).st_mode) != 0o600:
            raise Failure("%s: mode is %o" % (path, os.stat(path).st_mode))
        try:
            return profile_file.Profile(path)
        except profile_file.BadFile as error:
            raise Failure("%s: %s" % (os.path.basename(path), error))


def where(pid):
    """What a hung process waits for; best effort."""
    ret = ""
    for task in glob.glob("/proc/%d/task/*" % pid)[:12]:
        try:
            ret += "\n  task %s: %s, %s" % (
                os.path.basename(task), open(task + "/wchan").read() or "running",
                open(task + "/comm").read().strip())
        except OSError:
            pass
    return ret


# ---- comparisons; each returns a list of complaints

def clip(text, size=400):
    return text if len(text) <= size else text[:size] + "..."


def same_output(plain, other):
    ret = []
    for what in ("status", "stdout", "stderr"):
        a, b = getattr(plain, what), getattr(other, what)
        if a != b:
            ret.append("%s differs: plain %s, with the preload %s"
                       % (what, clip(repr(a)), clip(repr(b))))
    return ret


def consistent(profile, killed=False):
    """What holds for any profile."""
    ret = []
    name = os.path.basename(profile.path)
    if profile.cut and not killed:
        ret.append("%s ends inside a record" % name)
    if not profile.snapshots:
        return ret + ["%s has no snapshot" % name]
    sums = [sum(column) for column in zip(*profile.state.values())] or [0] * 6
    for field in ("count", "bytes", "temporary", "live_count", "live_bytes"):
        have = sums[profile_file.Summary._fields.index(field)]
        want = getattr(profile.total, field)
        if field.startswith("live") and profile.forked:
            if have not in (want, want - getattr(profile.inherited, field)):
                ret.append("%s: %s over stacks %d, total %d" % (name, field, have, want))
        elif have != want:
            ret.append("%s: %s over stacks %d, total %d" % (name, field, have, want))
    for snapshot in profile.snapshots:
        if snapshot.total and (snapshot.total.live_bytes < 0 or snapshot.total.live_count < 0):
            ret.append("%s: a live total below zero" % name)
            break
        if any(s.live_bytes < 0 or s.live_count < 0 for _, s in snapshot.changed):
            ret.append("%s: a stack's live figure below zero" % name)
            break
    if not profile.modules:
        ret.append("%s: no modules" % name)
    return ret


def agrees_with_oracle(memhawk, oracle, starting=None):
    """The same processes with the same figures, whatever their pids. `starting`: what the oracle
    sees of MemHawk's own start in each image, when it stands below it."""
    fields = ("count", "bytes", "live_count", "live_bytes", "temporary")
    theirs = collections.Counter()
    for o in oracle.oracles:
        if o.count or o.free_count:
            row = [getattr(o, f) for f in fields]
            if starting and not o.inherited_count:
                row = [a - getattr(starting, f) for a, f in zip(row, fields)]
            if any(row):
                theirs[(os.path.basename(o.exe),) + tuple(row)] += 1
    ours = collections.Counter()
    for p in memhawk.profiles:
        freed = p.inherited.live_count + p.total.count - p.total.live_count
        if p.total.count or freed:
            ours[(os.path.basename(p.full_path),)
                 + tuple(getattr(p.total, f) for f in fields)] += 1
    missing, extra = sorted((theirs - ours).elements()), sorted((ours - theirs).elements())
    if not oracle.oracles and not memhawk.profiles:
        return ["nobody saw a process"]
    if missing or extra:
        return ["%s: oracle %s, MemHawk %s" % ("(name, %s)" % ", ".join(fields),
                                               missing[:4], extra[:4])]
    return []
