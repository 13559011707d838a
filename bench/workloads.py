# SPDX-License-Identifier: Apache-2.0
"""What is measured. A workload has a name, a title, the bar it is held to, and measure(), which runs
it once under one variant and returns a figure; most are a command whose wall time counts."""
import glob
import os
import re
import shutil
import socket
import subprocess
import time

from sampling import HERE, OUT, Scratch, base_environment, run_timed

FILES = os.path.join(HERE, "workloads")
PROFILES = os.path.join(OUT, "profiles")
PYTHON = "/usr/bin/python3"

ALL = ["plain", "again", "memhawk", "jemalloc", "heaptrack-preload", "heaptrack"]
FAST = ["plain", "again", "memhawk", "jemalloc"]


def keep_profile(name, scratch):
    """The largest profile of a run, for the measurement of `memhawk report`."""
    files = sorted(glob.glob(os.path.join(scratch, "*.binpb")), key=os.path.getsize)
    if files:
        os.makedirs(PROFILES, exist_ok=True)
        shutil.copyfile(files[-1], os.path.join(PROFILES, name + ".binpb"))


class Workload:
    """A command; wall time in seconds, the ratio to plain is held to `bar`."""

    unit, higher_is_better = "s", False

    def __init__(self, name, title, command, bar=None, variants=None, stdin=None,
                 environment=None):
        self.name, self.title, self.bar = name, title, bar
        self.command_line, self.stdin = command, stdin
        self.variants = variants or ALL
        self.environment = environment or {}

    def prepare(self, setup):
        """Once, before the first run."""

    def command(self, setup):
        return [part.replace("{bench}", os.path.join(setup.build, "bench"))
                for part in self.command_line]

    def before_run(self, scratch):
        """Before each run, not timed."""

    def measure(self, setup, variant):
        with Scratch() as scratch:
            self.before_run(scratch)
            environment = {**base_environment(), **self.environment,
                           **variant.environment(setup, scratch)}
            seconds = run_timed(variant.command(self.command(setup), scratch), environment,
                                scratch, self.stdin)
            if variant.name == "memhawk":
                keep_profile(self.name, scratch)
            return seconds


class GitGc(Workload):
    """git gc on a copy of a generated repository: several processes, threads, big buffers."""

    def prepare(self, setup):
        self.repository = os.path.join(OUT, "cache", "repository.git")
        if os.path.isdir(self.repository):
            return
        partial = self.repository + ".partial"
        shutil.rmtree(partial, ignore_errors=True)
        os.makedirs(partial)
        subprocess.run(["git", "init", "-q", "--bare", partial], check=True)
        importer = subprocess.Popen(["git", "-C", partial, "fast-import", "--quiet"],
                                    stdin=subprocess.PIPE)
        for number in range(1500):
            importer.stdin.write(self.commit(number))
        importer.stdin.close()
        if importer.wait() != 0:
            raise RuntimeError("git fast-import failed")
        os.rename(partial, self.repository)

    @staticmethod
    def commit(number):
        """Changes 8 of 200 files; each of some 250 lines that depend on file and commit."""
        lines = [f"commit refs/heads/main\ncommitter Bench <bench@example.org> {1700000000 + number}"
                 f" +0000\ndata <<END\ncommit {number}\nEND\n"]
        for k in range(8):
            path = (number * 8 + k * 7) % 200
            body = "".join(f"line {i} of {path}: {(i * path + number // (1 + i % 9)) % 9973}\n"
                           for i in range(250))
            lines.append(f"M 100644 inline dir{path % 20}/file{path}.txt\n"
                         f"data {len(body)}\n{body}\n")
        return "".join(lines).encode()

    def before_run(self, scratch):
        shutil.copytree(self.repository, os.path.join(scratch, "repository.git"))


class Redis(Workload):
    """redis-server under load from redis-benchmark: requests a second over four commands."""

    unit, higher_is_better = "requests/s", True
    requests = 60000

    def measure(self, setup, variant):
        with Scratch() as scratch:
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                port = str(probe.getsockname()[1])
            environment = {**base_environment(), **variant.environment(setup, scratch)}
            command = ["redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "",
                       "--appendonly", "no", "--dir", scratch, "--logfile", "redis.log"]
            server = subprocess.Popen(variant.command(command, scratch), env=environment,
                                      cwd=scratch, stdin=subprocess.DEVNULL,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                self.wait_for(port)
                return self.load(port)
            finally:
                subprocess.run(["redis-cli", "-p", port, "shutdown", "nosave"],
                               capture_output=True, check=False)
                try:
                    server.wait(60)
                except subprocess.TimeoutExpired:
                    server.kill()
                    server.wait()
                if variant.name == "memhawk":
                    keep_profile(self.name, scratch)

    @staticmethod
    def wait_for(port):
        for _ in range(200):
            done = subprocess.run(["redis-cli", "-p", port, "ping"], capture_output=True,
                                  text=True, check=False)
            if done.stdout.strip() == "PONG":
                return
            time.sleep(0.05)
        raise RuntimeError("redis-server did not come up")

    def load(self, port):
        done = subprocess.run(["redis-benchmark", "-p", port, "-n", str(self.requests), "-c", "20",
                               "-d", "100", "-r", "10000", "-t", "set,get,lpush,sadd", "--csv"],
                              capture_output=True, text=True, check=True, env=base_environment())
        rates = [float(rate) for rate in re.findall(r'^"[^"]+","([\d.]+)"', done.stdout, re.M)]
        return len(rates) / sum(1 / rate for rate in rates)


class StartUp(Workload):
    """/bin/true: the time of one start, in ms, from many in a row."""

    unit = "ms"
    repeats = 40

    def measure(self, setup, variant):
        with Scratch() as scratch:
            environment = {**base_environment(), **variant.environment(setup, scratch)}
            start = time.perf_counter()
            for _ in range(self.repeats):
                subprocess.run(["/bin/true"], env=environment, cwd=scratch, check=True,
                               close_fds=False)
            return (time.perf_counter() - start) * 1000 / self.repeats


WORKLOADS = [
    Workload("list16", "16 threads, each 200,000 `std::list` nodes in and out",
             ["{bench}/list16"], bar=1.15, variants=ALL + ["tcmalloc"]),
    Workload("frames24", "2 threads, 24 frames that all change every 4th allocation",
             ["{bench}/frames24", "-w", "2000000"], bar=2.0, variants=FAST),
    Workload("frames24-short", "the same, short enough for heaptrack",
             ["{bench}/frames24", "-w", "20000"],
             variants=["plain", "again", "memhawk", "heaptrack-preload", "heaptrack"]),
    Workload("sqlite3", "sqlite3, sort of 500,000 rows in memory", ["sqlite3", ":memory:"],
             bar=1.10, stdin=os.path.join(FILES, "sort.sql")),
    Workload("python3", "python3 JSON, PYTHONMALLOC=malloc",
             [PYTHON, os.path.join(FILES, "parse_json.py")], bar=1.25,
             environment={"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"}),
    Workload("perl", "perl, hash of 500,000 arrays",
             ["perl", os.path.join(FILES, "hash_arrays.pl")], bar=1.08,
             environment={"PERL_HASH_SEED": "0"}),
    Workload("g++", "g++ on a template-heavy file",
             ["g++", "-std=c++17", "-O1", "-c", "-o", "templates.o",
              os.path.join(FILES, "templates.cpp")], bar=1.08,
             variants=["plain", "again", "memhawk", "heaptrack-preload"]),
    GitGc("git-gc", "git gc on a generated repository",
          ["git", "-C", "repository.git", "gc", "--quiet"],
          variants=["plain", "again", "memhawk", "heaptrack-preload"]),
    Redis("redis", "redis-server under redis-benchmark (requests/s)", None, bar=0.93,
          variants=["plain", "again", "memhawk", "jemalloc", "heaptrack-preload"]),
    StartUp("start-up", "start of /bin/true", None, bar=5,
            variants=["plain", "again", "memhawk"]),
]
