#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the command line tests: each is a script and what it must print.

  run_cases.py --memhawk BUILD/src/cli/memhawk --library BUILD/src/runtime/libmemhawk.so
               [--update] [CASE ...]

A case is cases/NAME.sh or cases/NAME.py. It runs in an empty scratch folder with `memhawk` in PATH
and cases/common.sh for bash; all that it prints is compared with cases/NAME.expected after what
differs from run to run (pids, times, folders) was replaced by words. With --update the expectation is
rewritten; look at the difference before you commit it. A case that cannot run here prints a line
that begins with "SKIP: " and exits with 77.

Prints TAP. Exit status 1 when a case failed.
"""
import argparse
import difflib
import os
import re
import shutil
import subprocess
import signal
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
CASES = os.path.join(HERE, "cases")
TIMEOUT_S = 120
SKIPPED = 77

# In this order. Sizes and counts of real runs are not replaced: cases print only those that are exact.
REPLACED = [
    (r"_\d+_protobuf\.binpb", "_PID_protobuf.binpb"),
    (r"_\d+_(\d)_protobuf\.binpb", r"_PID_\1_protobuf.binpb"),
    (r"\(pid \d+\)", "(pid PID)"),
    (r"MEMHAWK_ROOT_PID=\d+", "MEMHAWK_ROOT_PID=PID"),
    (r"after \d[\d.]* (ms|s)\b", "after TIME"),
    (r"^(  peak .* at) \d[\d.]* (ms|s)$", r"\1 TIME"),
]


def environment(arguments, scratch):
    kept = {k: v for k, v in os.environ.items()
            if not k.startswith(("MEMHAWK", "LD_", "ASAN", "UBSAN", "DEBUGINFOD", "XDG_"))}
    # a sanitizer's build of the command still finds its options
    kept.update({k: os.environ[k] for k in ("ASAN_OPTIONS", "UBSAN_OPTIONS") if k in os.environ})
    kept.update({
        "PATH": os.path.join(scratch, "bin") + ":" + kept.get("PATH", "/usr/bin:/bin"),
        "HOME": os.path.join(scratch, "home"), "XDG_CACHE_HOME": os.path.join(scratch, "cache"),
        "LC_ALL": "C.UTF-8", "TERM": "xterm", "NO_COLOR": "1", "TZ": "UTC",
        "MEMHAWK_LIB": arguments.library, "CASES": CASES,
        "GOLDEN": os.path.join(os.path.dirname(HERE), "golden"),
        "SOURCE_ROOT": os.path.dirname(os.path.dirname(HERE)),
    })
    return kept


def run_case(arguments, name, script):
    """Exit status and normalised output."""
    with tempfile.TemporaryDirectory(prefix="memhawk-cli-") as scratch:
        scratch = os.path.realpath(scratch)
        for folder in ("bin", "home", "work"):
            os.mkdir(os.path.join(scratch, folder))
        os.symlink(os.path.realpath(arguments.memhawk), os.path.join(scratch, "bin", "memhawk"))
        os.symlink(os.path.realpath(arguments.memhawk), os.path.join(scratch, "bin", "symbolizer"))
        work = os.path.join(scratch, "work")
        interpreter = "bash" if script.endswith(".sh") else sys.executable
        done = subprocess.run([interpreter, script], cwd=work, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT_S,
                              env=environment(arguments, scratch), check=False)
        subprocess.run(["chmod", "-R", "u+rwX", scratch], check=False)
    text = done.stdout.decode("utf-8", "backslashreplace")
    text = text.replace(work, "@WORK@").replace(scratch, "@SCRATCH@")
    text = text.replace(os.path.dirname(HERE), "@TESTS@")
    text = text.replace(arguments.library, "@LIBRARY@")
    for pattern, replacement in REPLACED:
        text = re.sub(pattern, replacement, text, flags=re.M)
    return done.returncode, text


def judge(arguments, name, script):
    """'ok', 'skip REASON' or what is wrong."""
    try:
        status, text = run_case(arguments, name, script)
    except subprocess.TimeoutExpired:
        return f"still running after {TIMEOUT_S} s"
    if status == SKIPPED:
        reasons = re.findall(r"^SKIP: (.*)", text, re.M)
        return "skip " + (reasons[-1] if reasons else "?")
    if status != 0:
        return f"the script itself ended with {status}:\n{text}"
    path = os.path.join(CASES, name + ".expected")
    if arguments.update:
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        return "ok"
    expected = ""
    if os.path.exists(path):
        with open(path, encoding="utf-8") as source:
            expected = source.read()
    if text == expected:
        return "ok"
    return "\n".join(difflib.unified_diff(expected.splitlines(), text.splitlines(),
                                          "expected", "printed", lineterm=""))


def main():
    # nohup ignores the first, a shell's `&` the second, and tests would inherit that.
    for number in (signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--memhawk", required=True)
    parser.add_argument("--library", required=True)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("case", nargs="*")
    arguments = parser.parse_args()
    arguments.library = os.path.realpath(arguments.library)
    scripts = {os.path.splitext(f)[0]: os.path.join(CASES, f) for f in sorted(os.listdir(CASES))
               if f.endswith((".sh", ".py")) and f != "common.sh"}
    unknown = [c for c in arguments.case if c not in scripts]
    if unknown or not shutil.which("bash"):
        sys.exit(f"no such case: {' '.join(unknown)}; there are: {' '.join(scripts)}")
    chosen = arguments.case or list(scripts)
    print(f"1..{len(chosen)}")
    failed = 0
    for number, name in enumerate(chosen, 1):
        verdict = judge(arguments, name, scripts[name])
        if verdict == "ok":
            print(f"ok {number} - {name}", flush=True)
        elif verdict.startswith("skip "):
            print(f"ok {number} - {name} # SKIP {verdict[5:]}", flush=True)
        else:
            failed += 1
            print(f"not ok {number} - {name}")
            print("\n".join("# " + line for line in verdict.splitlines()), flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
