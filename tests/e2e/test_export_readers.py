#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What real readers make of our files: heaptrack_print, go tool pprof, jq, and the JSON of speedscope
and of the HTML page. The figures are those of the table in tests/unit/export_fake.c, by hand.

Usage: test_export_readers.py EXPORT_SAMPLE
"""
import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

METRICS = ["live-bytes", "live-count", "total-bytes", "total-count", "temporary", "overhead"]
END = dict(zip(METRICS, [1024, 12, 6324, 65, 27, 84]))
PEAK = dict(zip(METRICS, [1500, 15, 2700, 27, 10, 128]))
ADDED = dict(zip(METRICS, [124, 3, 3624, 38, 17, 12]))
REMOVED = dict(zip(METRICS, [600, 6, 0, 0, 0, 56]))
SAMPLE = sys.argv[1]
FOLDER = tempfile.mkdtemp(prefix="memhawk-export-")


def make(form, name, *options):
    path = os.path.join(FOLDER, name)
    subprocess.run([SAMPLE, form, path, *options], check=True)
    return path


def text_of(form, *options):
    with open(make(form, "out", *options), encoding="utf-8") as file:
        return file.read()


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=dict(os.environ, HOME=FOLDER, PPROF_TMPDIR=FOLDER)).stdout.decode()


def equal(got, expected, what=""):
    if got != expected:
        raise AssertionError(f"{what}: got {got!r}, expected {expected!r}")


# ---- folded -------------------------------------------------------------------------------------

def folded(text):
    """As flamegraph.pl reads it, but strict: one blank, frames that are not empty."""
    rows = []
    for line in text.splitlines():
        equal(line.count(" "), 1, f"blanks in {line!r}")
        stack, value = line.rsplit(" ", 1)
        assert all(stack.split(";")), line
        rows.append((stack, int(value)))
    return rows


def test_folded():
    for metric in METRICS:
        for more in ([], ["inverted=1"], ["collapse=1"]):
            rows = folded(text_of("folded", "metric=" + metric, *more))
            equal(sum(v for _, v in rows), END[metric], f"folded {metric} {more}")
            equal(len({s for s, _ in rows}), len(rows), "distinct paths")
        peak = folded(text_of("folded", "metric=" + metric, "at=peak"))
        equal(sum(v for _, v in peak), PEAK[metric], f"folded peak {metric}")
        lines = text_of("folded", "metric=" + metric, "interval=1").splitlines()
        columns = [list(map(int, line.split(" ")[1:])) for line in lines]
        equal(sum(c[0] for c in columns), REMOVED[metric], f"folded removed {metric}")
        equal(sum(c[1] for c in columns), ADDED[metric], f"folded added {metric}")


# ---- json ---------------------------------------------------------------------------------------

def test_json():
    path = make("json", "a.json")
    for metric in METRICS:
        key = metric.replace("-", "_")
        equal(int(run("jq", f"[.stacks[].{key}] | add", path)), END[metric], f"jq {key}")
        equal(int(run("jq", f".sum.{key}", path)), END[metric], f"sum {key}")
    equal(run("jq", "-r", ".stacks[0].frames[.stacks[0].site].function", path).strip(),
          "std::vector<int, std::allocator<int> >::push_back(int const&)", "site")
    with open(path, "rb") as file:
        data = file.read()
    assert b"\xff" not in data and b"\x1b" not in data
    evil = [f for s in json.loads(data)["stacks"] for f in s["frames"]
            if (f["function"] or "").startswith("evil")]
    equal(evil[0]["function"], "evil;na me</script><!--\x1b[31m\ufffd\u2028\"&'", "hostile name")
    peak = json.loads(text_of("json", "at=peak"))
    equal(peak["sum"]["live_bytes"], 1500)
    equal(peak["view"]["at_peak"], True)
    between = json.loads(text_of("json", "interval=1"))
    for metric in METRICS:
        key = metric.replace("-", "_")
        equal(sum(s["added"][key] for s in between["stacks"]), ADDED[metric], "added " + key)
        equal(sum(s["removed"][key] for s in between["stacks"]), REMOVED[metric], "removed " + key)
    equal(json.loads(text_of("json", "profile=empty"))["stacks"], [])


def test_json_is_documented():
    """Each key that is written stands in docs/JSON.md, in backquotes."""
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "..", "..", "docs", "JSON.md"), encoding="utf-8") as file:
        words = set(re.findall(r"`([a-z_]+)`", file.read()))

    def keys(value):
        if isinstance(value, dict):
            for key, inner in value.items():
                yield key
                yield from keys(inner)
        elif isinstance(value, list):
            for inner in value:
                yield from keys(inner)
    for options in ([], ["interval=1"], ["at=peak"]):
        missing = set(keys(json.loads(text_of("json", *options)))) - words
        assert not missing, f"docs/JSON.md does not name {sorted(missing)}"


# ---- speedscope ---------------------------------------------------------------------------------

def check_speedscope(data):
    """The rules of https://www.speedscope.app/file-format-schema.json for sampled profiles."""
    equal(data["$schema"], "https://www.speedscope.app/file-format-schema.json")
    assert set(data) <= {"$schema", "name", "exporter", "activeProfileIndex", "shared", "profiles"}
    for frame in data["shared"]["frames"]:
        assert isinstance(frame["name"], str) and set(frame) <= {"name", "file", "line", "col"}
    for profile in data["profiles"]:
        equal(set(profile), {"type", "name", "unit", "startValue", "endValue", "samples", "weights"})
        equal(profile["type"], "sampled")
        assert profile["unit"] in ("bytes", "none")
        equal(len(profile["samples"]), len(profile["weights"]))
        assert all(w >= 0 for w in profile["weights"])
        equal(sum(profile["weights"]), profile["endValue"] - profile["startValue"])
        for sample in profile["samples"]:
            assert all(0 <= i < len(data["shared"]["frames"]) for i in sample)


def test_speedscope():
    data = json.loads(text_of("speedscope", "metric=total-count"))
    check_speedscope(data)
    equal({p["name"]: p["endValue"] for p in data["profiles"]}, END)
    equal(data["profiles"][data["activeProfileIndex"]]["name"], "total-count")
    names = [f["name"] for f in data["shared"]["frames"]]
    first = data["profiles"][0]
    equal([names[i] for i in first["samples"][0]][:3], ["__libc_start_main", "main", "build(int)"])
    between = json.loads(text_of("speedscope", "interval=1"))
    check_speedscope(between)
    sums = {p["name"]: p["endValue"] for p in between["profiles"]}
    for metric in METRICS:
        equal(sums.get(metric + " added", 0), ADDED[metric])
        equal(sums.get(metric + " removed", 0), REMOVED[metric])
    check_speedscope(json.loads(text_of("speedscope", "profile=empty")))


# ---- pprof --------------------------------------------------------------------------------------

PPROF = ["total-count", "total-bytes", "live-count", "live-bytes", "temporary", "overhead"]


def pprof_sums(path):
    """Sums of the sample columns of `go tool pprof -raw`, and its text."""
    raw = run("go", "tool", "pprof", "-raw", path)
    part = raw.split("Samples:\n", 1)[1].split("Locations", 1)[0]
    sums = [0] * 6
    for line in part.splitlines()[1:]:
        if ":" in line:
            for i, value in enumerate(line.split(":")[0].split()):
                sums[i] += int(value)
    return dict(zip(PPROF, sums)), raw


def test_pprof():
    path = make("pprof", "a.pb.gz")
    sums, raw = pprof_sums(path)
    equal(sums, END, "pprof sums")
    assert "alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes[dflt]" in raw
    assert re.search(r"^1: 0x401000/0x404000/0x0 /opt/app/prog deadbeef01 \[FN\]\[FL\]\[LN\]\[IN\]$",
                     raw, re.M), raw
    # The inlined function first, then the one it was inlined into, in one location.
    assert re.search(r"0x401011 M=1 std::vector<int.*push_back.*:120.*\n +build\(int\) /src/app.cpp:10",
                     raw), raw
    top = run("go", "tool", "pprof", "-top", path)
    assert re.search(r"600B 58\.59% .*operator new\(unsigned long\)", top), top
    assert re.search(r"0 +0%.* 900B 87\.89% +main$", top, re.M), top
    for index, metric in enumerate(PPROF):
        _, raw = pprof_sums(make("pprof", "m.pb.gz", "metric=" + metric))
        types = raw.split("Samples:\n", 1)[1].split("\n", 1)[0].split()
        assert types[index].endswith("[dflt]"), types
    equal(pprof_sums(make("pprof", "p.pb.gz", "at=peak"))[0], PEAK, "pprof at the peak")
    equal(pprof_sums(make("pprof", "i.pb.gz", "interval=1"))[0],
          {m: ADDED[m] - REMOVED[m] for m in METRICS}, "pprof interval")
    with open(path, "rb") as one, open(make("pprof", "b.pb.gz"), "rb") as two:
        equal(one.read() == two.read(), True, "same profile, same bytes")


# ---- heaptrack ----------------------------------------------------------------------------------

def heaptrack(path, *options):
    return run("heaptrack_print", "--disable-builtin-suppressions", "-f", path, *options)


def check_heaptrack(out, allocations, temporary, peak, leaked):
    assert f"calls to allocation functions: {allocations} " in out, out[-600:]
    assert f"temporary memory allocations: {temporary} " in out, out[-600:]
    assert f"peak heap memory consumption: {peak}\n" in out, out[-600:]
    assert f"total memory leaked: {leaked}\n" in out, out[-600:]
    assert "failed to parse" not in out and "out of bounds" not in out, out


def test_heaptrack():
    # At the peak and at the end the log is the same: it goes to the end of the run.
    for name, moment in (("a.ht", "end"), ("a.gz", "end"), ("a.zst", "peak")):
        out = heaptrack(make("heaptrack", name, "at=" + moment))
        check_heaptrack(out, 65, 27, "1.50K", "1.02K")
        assert "Debuggee command was: /opt/app/prog --title 'two words'" in out
    stacks = os.path.join(FOLDER, "stacks")
    path = make("heaptrack", "a.ht")
    expected = {"peak": {"push_back": 1000, "recurse": 300, "evil": 200},
                "leaked": {"push_back": 600, "recurse": 300, "0x7f0000001235": 100,
                           "not recorded": 24},
                "allocations": {"push_back": 50, "recurse": 3, "evil": 9, "0x7f0000001235": 1,
                                "not recorded": 2},
                "temporary": {"push_back": 20, "evil": 7}}
    for cost, rows in expected.items():
        heaptrack(path, "-F", stacks, "--flamegraph-cost-type", cost)
        with open(stacks, encoding="utf-8") as file:
            lines = [line.rsplit(" ", 1) for line in file.read().splitlines() if line]
        for name, value in rows.items():
            got = sum(int(v) for stack, v in lines if name in stack)
            equal(got, value, f"heaptrack {cost} of {name}")
        equal(sum(int(v) for _, v in lines), sum(rows.values()), f"heaptrack {cost}")
    # Only the function that allocates at the end of the path: frames are in order.
    part = heaptrack(path).split("PEAK MEMORY CONSUMERS", 1)[1]
    assert re.search(r"push_back\(int const&\)\n  at /usr/include/vector:120\n  in /opt/app/prog",
                     part), part[:1500]
    check_heaptrack(heaptrack(make("heaptrack", "f.ht", "filter=recurse")), 3, 0, "300B", "300B")
    check_heaptrack(heaptrack(make("heaptrack", "i.ht", "interval=1")), 38, 17, "124B", "124B")


# ---- html ---------------------------------------------------------------------------------------

def page_data(text):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text,
                                re.S).group(1))


def page_sums(data):
    keys = [m["key"] for m in data["head"]["metrics"]]
    sums = [dict.fromkeys(METRICS, 0) for _ in data["head"]["sets"]]
    for node in data["nodes"]:
        for i, values in enumerate(node[2:]):
            for key, value in zip(keys, values):
                sums[i][key] += value
    return sums


def test_html():
    text = text_of("html")
    equal(page_sums(page_data(text)), [END], "html sums")
    equal(page_sums(page_data(text_of("html", "interval=1"))), [ADDED, REMOVED], "html interval")
    equal(page_sums(page_data(text_of("html", "at=peak", "metric=overhead"))), [PEAK], "html peak")
    data = re.search(r'id="data">(.*?)</script>', text, re.S).group(1)
    assert not re.search(r"[<>&\u2028\u2029]", data), "raw characters of HTML in the data"
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text).group(1)
    assert policy.startswith("default-src 'none'; ") and "unsafe" not in policy, policy
    for kind, body in (("script", re.search(r"<script>(.*?)</script>", text, re.S).group(1)),
                       ("style", re.search(r"<style>(.*?)</style>", text, re.S).group(1))):
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy, f"hash of {kind}"
    assert not re.search(r"https?://|//[a-z]+\.[a-z]", text.replace("</", "")), "a foreign address"
    before, after = page_sums(page_data(text_of("html", "diff=1")))
    equal((before["live-bytes"], after["live-bytes"]), (3048, 3512), "diff")


# ---- size ---------------------------------------------------------------------------------------

def test_large():
    """30,000 stacks in every format: sums hold."""
    count = 30000
    total = count * (count + 1) // 2
    options = ["profile=large", f"stacks={count}", "depth=64"]
    rows = folded(text_of("folded", *options))
    equal(sum(v for _, v in rows), total)
    equal(len(rows), count)
    equal(sum(s["live_bytes"] for s in json.loads(text_of("json", *options))["stacks"]), total)
    equal(page_sums(page_data(text_of("html", *options)))[0]["live-bytes"], total)
    equal(pprof_sums(make("pprof", "l.pb.gz", *options))[0]["live-bytes"], total)
    check_speedscope(json.loads(text_of("speedscope", *options)))
    out = heaptrack(make("heaptrack", "l.zst", *options))
    check_heaptrack(out, count + 1, 0, "450.01M", "450.01M")
    # Three bytes in two blocks: sizes that differ must add up again.
    check_heaptrack(heaptrack(make("heaptrack", "u.ht", "profile=large", "stacks=3", "depth=2")),
                    4, 0, "6B", "6B")


def test_memory():
    """100,000 stacks of 64 frames, all different: every format stays under 400 MiB."""
    for form in ("text", "json", "folded", "html", "pprof", "speedscope", "heaptrack"):
        command = [SAMPLE, form, "/dev/null", "profile=large", "stacks=100000", "depth=64"]
        with subprocess.Popen(command) as child:
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = status
        equal(status, 0, form)
        assert usage.ru_maxrss < 400 * 1024, f"{form} took {usage.ru_maxrss} KiB"


def main():
    failed = 0
    tests = [(name, t) for name, t in globals().items() if name.startswith("test_")]
    # First: a child's largest size counts from before its exec, when it was as large as we are.
    tests.sort(key=lambda test: test[0] != "test_memory")
    for name, test in tests:
        try:
            test()
            print("ok", name)
        except Exception as problem:  # pylint: disable=broad-except
            failed += 1
            print("not ok", name, "-", type(problem).__name__, problem)
    shutil.rmtree(FOLDER)
    print(f"{len(tests) - failed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
