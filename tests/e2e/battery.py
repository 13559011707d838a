# SPDX-License-Identifier: Apache-2.0
"""Real programs. Each runs plain, under the oracle and under MemHawk: the same output and exit
status in all three, and (where the program is deterministic) the same processes with the same
number of allocations, bytes, temporary allocations and blocks live at exit, to the last call.

What a program allocates may depend on addresses or on scheduling (cc1plus: some calls in two million
from run to run; node, redis-server, threads of python). Such a program runs under both at once: MemHawk
passes its calls on to the oracle, so both see the very same calls, but for the few of MemHawk's own
start (failing dlsym calls), which are measured on /bin/true and taken off.
"""
import os
import shutil
import socket
import subprocess
import textwrap
import time

import directives
import harness
from harness import Config, Failure, Skip

SQL = """
create table t(a integer, b text);
with recursive c(i) as (select 1 union all select i + 1 from c where i < 200000)
insert into t select (i * 7919) % 200003, 'row ' || i from c;
select count(*), sum(a) from (select a, b from t order by b, a);
select a, b from t order by a desc limit 3;
"""

PERL = """
my %h; for my $i (1 .. 60000) { $h{"key $i"} = [$i, $i * 2, "value $i"]; }
my $sum = 0; $sum += $_->[0] + length $_->[2] for values %h;
delete $h{"key $_"} for 1 .. 30000; print scalar(keys %h), " $sum\\n"; exit 3;
"""

PYTHON = """
import json
rows = [{"id": i, "name": "row %d" % i, "tags": ["a", "b", str(i)]} for i in range(12000)]
text = json.dumps(rows)
back = json.loads(text)
print(len(text), len(back), back[-1]["tags"])
"""

PYTHON_CHILDREN = """
import os, sys
sys.stdout.flush()
pid = os.posix_spawn("/bin/echo", ["echo", "hello"], os.environ)
print(os.waitpid(pid, 0)[1], os.system("exit 7") >> 8, flush=True)
pid = os.fork()
if pid == 0:
    data = [bytearray(1000) for _ in range(1000)]
    os._exit(len(data) % 256)
print(os.waitpid(pid, 0)[1] >> 8)
"""

PYTHON_SUBPROCESS = """
import subprocess
print(subprocess.run(["/bin/echo", "hello"], stdout=subprocess.PIPE).stdout)
print(subprocess.run("exit 7", shell=True).returncode)
try:
    subprocess.run(["/nonexistent"])
except FileNotFoundError as error:
    print(error)
"""

PYTHON_THREADS = """
import threading, queue
q, out = queue.Queue(), []
def work():
    while (n := q.get()) is not None:
        out.append(sum(len(str(i)) for i in range(n)))
threads = [threading.Thread(target=work) for _ in range(8)]
for t in threads: t.start()
for i in range(400): q.put(i)
for t in threads: q.put(None)
for t in threads: t.join()
print(sum(out))
"""

REGEX_CPP = """
#include <regex>
#include <string>
#include <iostream>
int main(int argc, char **argv)
{
    std::regex pattern("([a-z]+)-([0-9]+)");
    std::smatch match;
    std::string text = argc > 1 ? argv[1] : "abc-42";
    if (std::regex_match(text, match, pattern))
        std::cout << match[1] << " " << match[2] << std::endl;
    return 0;
}
"""

BASH = r"""
declare -A seen; words=(); for ((i = 0; i < 3000; i++)); do
    word=$(( (i * 7919) % 1009 )); seen[$word]=$((${seen[$word]:-0} + 1)); words+=("w$word"); done
echo "${#seen[@]} ${#words[@]}"; x=$(echo nested $(echo deeper)); echo "$x"
printf '%s\n' "${words[@]}" | sort -u | wc -l
(exit 9); echo $?; trap 'echo bye' EXIT; exit 4
"""

DASH = r"""
i=0; while [ $i -lt 500 ]; do x="$x $i"; i=$((i + 1)); done; echo ${#x}
y=$(echo sub | tr a-z A-Z); echo $y; { echo piped; } | cat; (exit 5); echo $?; exit 6
"""

MAKEFILE = """
FILES := $(foreach n,1 2 3 4 5 6 7 8,out$(n))
all: $(FILES); @cat $(FILES) | sort | tail -1
out%: ; @echo $* > $@
"""

CMAKE = """
cmake_minimum_required(VERSION 3.10)
project(x NONE)
foreach(i RANGE 300)
  list(APPEND all item${i})
  string(REGEX REPLACE "item" "thing" t${i} "item${i}")
endforeach()
list(LENGTH all n)
message(STATUS "n=${n} ${t300}")
"""

NODE = """
const rows = []; for (let i = 0; i < 20000; i++) rows.push({i, name: 'row ' + i});
const back = JSON.parse(JSON.stringify(rows)); console.log(back.length, back[777].name);
const {execFileSync} = require('child_process');
console.log(execFileSync('/bin/echo', ['child']).toString().trim());
process.exitCode = 3;
"""


def text_file(name, text):
    def prepare(folder):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(textwrap.dedent(text))
    return prepare


def lines_file(name, count):
    """Compressible, but not trivially so."""
    def prepare(folder):
        seed = 12345
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            for i in range(count):
                seed = (seed * 1103515245 + 12345) & 0x7fffffff
                f.write('{"n": %d, "r": "%x", "s": "line %d"}\n' % (i, seed, seed % 97))
    return prepare


def json_file(folder):
    lines_file("lines", 8000)(folder)
    with open(os.path.join(folder, "lines"), encoding="utf-8") as f:
        text = "[" + ",".join(f.read().splitlines()) + "]"
    with open(os.path.join(folder, "data.json"), "w", encoding="utf-8") as f:
        f.write(text)


def tree(folder):
    for d in range(12):
        os.makedirs(os.path.join(folder, "tree", "d%d" % d, "sub"))
        for n in range(12):
            text_file("tree/d%d/sub/f%d" % (d, n), "file %d of %d\n" % (n, d) * (50 + n))(folder)


def repository(folder):
    """A repository by git fast-import: 300 commits over 40 files, all dates fixed."""
    path = os.path.join(folder, "repo")
    env = {"PATH": "/usr/bin:/bin", "HOME": folder, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", "init", "-q", "-b", "main", path], check=True, env=env)
    stream = []
    for i in range(300):
        body = "".join("line %d of revision %d\n" % (j, i if j % 7 == i % 7 else 0)
                       for j in range(60))
        stream.append("commit refs/heads/main\ncommitter A U Thor <a@example.org> %d +0000\n"
                      "data %d\nchange %d\n" % (1500000000 + i * 60, len("change %d\n" % i), i))
        stream.append("M 100644 inline dir%d/file%d\ndata %d\n%s\n" % (i % 5, i % 40, len(body),
                                                                      body))
    subprocess.run(["git", "fast-import", "--quiet"], cwd=path, env=env, check=True,
                   input="".join(stream).encode())
    subprocess.run(["git", "-c", "fastimport.unpackLimit=0", "unpack-objects", "-q"], cwd=path,
                   env=env, check=False, input=b"", stderr=subprocess.DEVNULL)


def redis_session(folder):
    """Talks to the server over its socket; returns the answers."""
    path = os.path.join(folder, "s")
    commands = ["PING", "SET a 1", "INCR a", "LPUSH l x y z", "LRANGE l 0 -1",
                "HSET h f1 v1 f2 v2", "HGETALL h", "ZADD z 1 one 2 two", "ZRANGE z 0 -1",
                "EVAL return(redis.call('get','a')) 0", "SAVE", "FLUSHALL", "DBSIZE"]
    commands[5:5] = ["SET key:%d %s" % (i, "v" * (i % 200 + 1)) for i in range(2000)]
    for _ in range(200):
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(path)
            break
        except OSError:
            connection.close()
            time.sleep(0.05)
    else:
        raise OSError("redis-server does not answer")
    connection.settimeout(20)
    answers = connection.makefile("rb")
    said = []
    for command in commands:
        words = command.split(" ")
        connection.sendall(b"*%d\r\n" % len(words) + b"".join(
            b"$%d\r\n%s\r\n" % (len(w), w.encode()) for w in words))
        said.append(redis_answer(answers))
    connection.sendall(b"*2\r\n$8\r\nSHUTDOWN\r\n$6\r\nNOSAVE\r\n")
    answers.read()
    connection.close()
    return "\n".join(said)


def redis_answer(stream):
    line = stream.readline().decode().rstrip()
    if line.startswith("$") and line != "$-1":
        return stream.read(int(line[1:]) + 2).decode().rstrip()
    if line.startswith("*"):
        return " ".join(redis_answer(stream) for _ in range(int(line[1:])))
    return line


class Case:
    def __init__(self, argv, prepare=lambda folder: None, env=None, stdin=b"", exact=True,
                 fixed=False, timeout=120, processes=1, during=None, same_output=True,
                 status=0, results=(), losses=(), stacked=True, changes=False):
        self.argv, self.prepare, self.env, self.stdin = argv, prepare, env or {}, stdin
        self.exact, self.fixed, self.timeout, self.processes = exact, fixed, timeout, processes
        self.during, self.same_output, self.status = during, same_output, status
        self.results, self.losses, self.stacked = results, dict(losses), stacked
        self.changes = changes  # files of its folder, so that each run needs one of its own

    def run(self, name):
        if not os.path.exists(self.argv[0]):
            raise Skip("%s is not installed" % self.argv[0])
        bench = harness.Bench(name, self.timeout)
        bench.prepare, bench.fixed_addresses = self.prepare, self.fixed
        # Not into the working folder: python and make read it, one more name is one more block.
        bench.extra_env = dict(self.env, MEMHAWK_OUTPUT=os.path.join(bench.base, "o"))
        try:
            if not self.changes:
                bench.share_folder()
            return self.compare(bench)
        finally:
            bench.close()

    def compare(self, bench):
        def run(mode):
            return bench.run(self.argv, mode, stdin=self.stdin, during=self.during)
        plain = run("plain")
        if plain.status != self.status:
            raise Failure("plain run ends with %d: %s" % (plain.status,
                                                          harness.clip(plain.stderr)))
        ret = []
        theirs = run("oracle") if self.exact else None
        if not Config.lib:  # the oracle alone: it must agree with itself
            again = run("oracle") if self.exact else None
            return self.same_twice(theirs, again) if self.exact else []
        ours = run("memhawk")
        if self.same_output:
            ret += harness.same_output(plain, ours)
            ret += self.same_files(plain, ours)
        elif ours.status != plain.status:
            ret.append("status is %d, plain %d" % (ours.status, plain.status))
        if len(ours.profiles) < self.processes:
            ret.append("%d profiles, expected at least %d" % (len(ours.profiles), self.processes))
        for profile in ours.profiles:
            ret += harness.consistent(profile)
            ret += directives.Check(profile, ()).losses(dict(self.losses, depth_cut=">=0"))
        if self.exact:
            ret += harness.agrees_with_oracle(ours, theirs)
        elif self.stacked:
            stack = bench.lib + ":" + bench.oracle_lib
            idle = bench.run(["/bin/true"], "memhawk", preload=stack)  # allocates nothing itself
            both = bench.run(self.argv, "memhawk", preload=stack, stdin=self.stdin,
                             during=self.during)
            starting = idle.oracles[0] if idle.oracles else None
            if starting and starting.live_count:
                ret.append("MemHawk's start leaves blocks on the program's heap")
            ret += ["stacked: " + c for c in harness.agrees_with_oracle(both, both, starting)]
        return ret

    def same_twice(self, first, second):
        def key(run):
            return sorted((os.path.basename(o.exe), o.count, o.bytes, o.live_count, o.live_bytes)
                          for o in run.oracles)
        if key(first) == key(second):
            return []
        return ["two oracle runs differ: %s, %s" % (
            [k for k in key(first) if k not in key(second)][:3],
            [k for k in key(second) if k not in key(first)][:3])]

    def same_files(self, plain, ours):
        """Files that the program made are the same."""
        ret = []
        for name in self.results:
            contents = []
            for run in (plain, ours):
                path = os.path.join(run.folder, name)
                contents.append(open(path, "rb").read() if os.path.exists(path) else None)
            if contents[0] is None or contents[0] != contents[1]:
                ret.append("%s differs from the plain run's" % name)
        return ret


GIT_ENV = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_PAGER": "cat", "GIT_AUTHOR_DATE": "1500000000 +0000",
           "GIT_COMMITTER_DATE": "1500000000 +0000"}
PY_ENV = {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
CASES = {
    "true": Case(["/bin/true"]),
    "false": Case(["/bin/false"], status=1),
    "sqlite3": Case(["/usr/bin/sqlite3", ":memory:"], stdin=SQL.encode()),
    "perl": Case(["/usr/bin/perl", "-e", PERL], status=3,
                 env={"PERL_HASH_SEED": "0", "PERL_PERTURB_KEYS": "0"}),
    "python_json": Case(["/usr/bin/python3", "-c", PYTHON], env=PY_ENV, fixed=True),
    "python_children": Case(["/usr/bin/python3", "-c", PYTHON_CHILDREN], env=PY_ENV, processes=4,
                            exact=False),
    "python_subprocess": Case(["/usr/bin/python3", "-c", PYTHON_SUBPROCESS], env=PY_ENV,
                              exact=False, processes=3),
    "python_threads": Case(["/usr/bin/python3", "-c", PYTHON_THREADS], env=PY_ENV, exact=False),
    "git_log": Case(["/usr/bin/git", "-C", "repo", "log", "--stat", "-p", "--no-color"],
                    repository, env=GIT_ENV),
    "git_gc": Case(["/usr/bin/git", "-C", "repo", "-c", "pack.threads=1", "gc", "--prune=now",
                    "--quiet"], repository, env=GIT_ENV, processes=4, changes=True),
    "git_blame": Case(["/usr/bin/git", "-C", "repo", "blame", "main", "--", "dir1/file1"],
                      repository, env=GIT_ENV),
    "gxx_regex": Case(["/usr/bin/g++", "-std=c++17", "-O1", "-frandom-seed=1", "-c", "x.cpp",
                       "-o", "x.o"], text_file("x.cpp", REGEX_CPP), exact=False, processes=3,
                      results=["x.o"]),
    "xz": Case(["/usr/bin/xz", "-T1", "-6", "-k", "lines"], lines_file("lines", 30000),
               results=["lines.xz"]),
    "gzip": Case(["/bin/gzip", "-n", "-k", "lines"], lines_file("lines", 30000),
                 results=["lines.gz"]),
    "tar": Case(["/bin/tar", "--sort=name", "--mtime=@0", "--owner=0", "--group=0", "-cJf",
                 "t.tar.xz", "tree"], tree, processes=2, results=["t.tar.xz"]),
    "bash": Case(["/bin/bash", "-c", BASH], status=4, processes=5),
    "dash": Case(["/bin/dash", "-c", DASH], status=6, processes=3),
    "make": Case(["/usr/bin/make", "-s"], text_file("Makefile", MAKEFILE), processes=3),
    "cmake": Case(["/usr/bin/cmake", "-S", ".", "-B", "build"],
                  text_file("CMakeLists.txt", CMAKE), exact=False),
    "jq": Case(["/usr/bin/jq", "-c", "map(select(.n % 100 == 0)) | length, .[3]", "data.json"],
               json_file),
    "awk": Case(["/usr/bin/awk", '{ n[$3] += length($0) } END { for (k in n) s += n[k]; print s }',
                 "lines"], lines_file("lines", 20000)),
    "sort": Case(["/usr/bin/sort", "--parallel=1", "-S", "4M", "-k", "3", "-u", "lines"],
                 lines_file("lines", 20000)),
    "find": Case(["/usr/bin/find", "tree", "-name", "f1*", "-exec", "/usr/bin/wc", "-c", "{}",
                  "+"], tree, processes=2),
    "grep": Case(["/bin/grep", "-rEc", "(file|of) [0-9]+ of", "tree"], tree),
    "diff": Case(["/usr/bin/diff", "-r", "tree/d1", "tree/d2"], tree, status=1),
    "readelf": Case(["/usr/bin/readelf", "-a", "/bin/ls"]),
    "objdump": Case(["/usr/bin/objdump", "-d", "-C", "/bin/true"]),
    "node": Case(["/usr/bin/node", "-e", NODE], exact=False, status=3, processes=2,
                 losses={"unwind_ended": ">=0"}.items()),
    "redis": Case(["/usr/bin/redis-server", "--port", "0", "--unixsocket", "s", "--save", "",
                   "--logfile", "log", "--dir", "."], exact=False, stacked=False,
                  during=redis_session)  # brings jemalloc, which the oracle is not,
}


def tests():
    return [(name, lambda c=case, n=name: c.run(n)) for name, case in CASES.items()]
