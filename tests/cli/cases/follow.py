# SPDX-License-Identifier: Apache-2.0
"""`report --follow`: on a pipe one report for each change of a growing file, on a terminal a screen that
is drawn again, obeys its keys and its size, puts the terminal back, and ends with the run."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time


def records():
    """The golden profile cut into its records."""
    with open(os.path.join(os.environ["GOLDEN"], "v1.binpb"), "rb") as source:
        data = source.read()
    parts = []
    while data:
        size = 8 + struct.unpack(">Q", data[:8])[0]
        parts.append(data[:size])
        data = data[size:]
    return parts


def append(path, data):
    with open(path, "ab") as out:
        out.write(data)


def grow_on_pipe():
    """The process of the golden file was on another host: only the file can tell the end."""
    parts = records()
    append("grows", parts[0] + parts[1])
    process = subprocess.Popen(["memhawk", "report", "--follow", "grows"], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True)
    for part in parts[2:]:
        append("grows", part[:20])  # half a record is not there yet
        time.sleep(0.6)
        append("grows", part[20:])
        time.sleep(0.6)
    text, _ = process.communicate(timeout=20)
    print(*re.findall(r"^Live bytes at .*", text, re.M), sep="\n")
    print("exit", process.returncode)


LIVE = r"""
import ctypes, os, sys, time
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
kept = []
for _ in range(int(sys.argv[1])):
    kept.append(libc.malloc(1 << 20))
    time.sleep(0.05)
"""


def find_profile(folder):
    for _ in range(200):
        for name in os.listdir(folder) if os.path.isdir(folder) else []:
            if name.startswith("memhawk_") and os.path.getsize(os.path.join(folder, name)) > 0:
                return os.path.join(folder, name)
        time.sleep(0.05)
    raise SystemExit("no profile appeared")


def start_program(folder, steps):
    program = subprocess.Popen(["memhawk", "run", "-q", "-i", "100", "-o", folder, "--follow", "none",
                                "--", "/usr/bin/python3", "-c", LIVE, str(steps)])
    return program, find_profile(folder)


def live_on_pipe():
    program, path = start_program("live", 40)
    done = subprocess.run(["memhawk", "report", "--follow", path], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, timeout=60, check=False)
    reports = len(re.findall(r"^Live bytes at", done.stdout, re.M))
    print("several reports:", reports >= 5, "exit", done.returncode, "after the program:",
          program.wait(timeout=5))


class Screen:
    """The command on a terminal of its own, 80 columns and 24 rows."""

    def __init__(self, *command):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.pop("NO_COLOR")
            os.execvp(command[0], command)
        self.resize(24, 80)
        self.text = ""

    def resize(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def expect(self, pattern, seconds=20):
        end = time.monotonic() + seconds
        while not re.search(pattern, self.text, re.S):
            if time.monotonic() > end:
                raise SystemExit(f"no {pattern!r} on the screen, but {self.text[-2000:]!r}")
            self.read(0.1)
        found = re.search(pattern, self.text, re.S)
        self.text = self.text[found.end():]
        return found.group(0)

    def read(self, seconds):
        if select.select([self.fd], [], [], seconds)[0]:
            try:
                self.text += os.read(self.fd, 65536).decode("utf-8", "replace")
            except OSError:
                pass

    def drawings(self, seconds):
        """All that is drawn in this time, split into screens."""
        end = time.monotonic() + seconds
        self.text = ""
        while time.monotonic() < end:
            self.read(0.05)
        return self.text.split("\x1b[H")[1:]

    def send(self, keys):
        os.write(self.fd, keys.encode())

    def is_cooked(self):
        return bool(termios.tcgetattr(self.fd)[3] & termios.ICANON)

    def wait(self):
        status = os.waitpid(self.pid, 0)[1]
        self.read(0.2)
        return os.waitstatus_to_exitcode(status)


LEFT = r"\x1b\[\?7h\x1b\[\?25h\x1b\[\?1049l"


def on_terminal():
    program, path = start_program("screen", 200)
    screen = Screen("memhawk", "report", "--follow", path)
    screen.expect(r"\x1b\[\?1049h.*\x1b\[\?7l")  # no wrapping: long lines are clipped
    print("status:", re.sub(r"\(\d+\) \S+ m?s", "(PID) TIME",
                            screen.expect(r"python3.{10,80}i invert").replace("\x1b[7m", "")))
    screen.expect("Live bytes at")
    print("keys without Enter:", not screen.is_cooked())
    for keys, pattern in (("m", "Live allocations at"), ("3", "Bytes ever allocated"),
                          ("M", "Live allocations at"), ("1", "Live bytes at"),
                          ("p", "Live bytes at the peak"), ("p", r"Live bytes at \d"),
                          ("i", "function, below it what it called"), ("i", "allocated by"),
                          ("?", "")):
        screen.send(keys)
        screen.expect(pattern)
    print("keys obeyed")
    drawn = screen.drawings(1.5)
    print("drawn again by itself:", len(drawn) >= 3)
    print("fits 24 rows:", all(d.count("\n") < 24 for d in drawn),
          "80 columns:", all(len(re.sub(r"\x1b\[[\d;?]*\w", "", line)) <= 80
                             for d in drawn for line in d.split("\r\n")))
    screen.resize(10, 60)
    screen.expect(r"\x1b\[H")
    drawn = screen.drawings(1.0)[1:-1]
    print("fits 10 rows:", all(d.count("\n") < 10 for d in drawn))
    full = [line for d in drawn for line in d.split("\r\n")
            if len(re.sub(r"\x1b\[[\d;?]*\w", "", line)) == 60]
    # erasing behind the last column, where the cursor stays, would take the last character
    print("full lines keep their end:", bool(full) and not any(re.search(r"[^\x1b]\x1b\[[KJ]$", line) or
          re.search(r"\w\x1b\[[KJ]", re.sub(r"\x1b\[[\d;]*m", "", line)) for line in full))
    screen.send("q")
    screen.expect(LEFT)
    print("q ->", screen.wait(), "terminal put back:", screen.is_cooked())

    screen = Screen("memhawk", "report", "--follow", path)
    screen.expect("Live bytes at")
    screen.send("\x03")
    screen.expect(LEFT)
    print("Ctrl-C ->", screen.wait(), "terminal put back:", screen.is_cooked())

    screen = Screen("memhawk", "report", "--follow", path)
    screen.expect("Live bytes at")
    os.kill(screen.pid, signal.SIGTSTP)
    screen.expect(LEFT)
    os.waitpid(screen.pid, os.WUNTRACED)
    print("stopped, terminal put back:", screen.is_cooked())
    os.kill(screen.pid, signal.SIGCONT)
    screen.expect(r"\x1b\[\?1049h.*Live bytes at")
    program.send_signal(signal.SIGKILL)
    program.wait()
    os.kill(int(re.search(r"_(\d+)_protobuf", path).group(1)), signal.SIGKILL)
    screen.expect(LEFT + ".*Live bytes at")
    print("program killed ->", screen.wait(), "the last report stays")


if sys.argv[1:]:
    globals()[sys.argv[1]]()
else:
    grow_on_pipe()
    live_on_pipe()
    on_terminal()
