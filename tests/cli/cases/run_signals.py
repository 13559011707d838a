# SPDX-License-Identifier: Apache-2.0
"""Signals and job control: what is sent to the launcher reaches the program once, what is typed
reaches it as if the launcher were not there, and a shell sees the job stop and go on."""
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time

# Counts signals until a second has passed without one, or until SIGTERM; then tells.
COUNTER = r"""
import signal, sys, time
seen = []
last = [time.monotonic()]
def note(number, frame):
    seen.append(signal.Signals(number).name)
    last[0] = time.monotonic()
for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM, signal.SIGUSR1,
               signal.SIGUSR2, signal.SIGWINCH, signal.SIGCONT):
    signal.signal(number, note)
print("ready", flush=True)
while time.monotonic() - last[0] < 1.0:
    time.sleep(0.05)
print("seen:", " ".join(seen) or "nothing", flush=True)
"""


def say(*words):
    print(*words, flush=True)


def start(*options, code=COUNTER, **more):
    process = subprocess.Popen(["memhawk", "run", "-q", *options, "--", sys.executable, "-c", code],
                               stdout=subprocess.PIPE, text=True, **more)
    assert process.stdout.readline() == "ready\n"
    return process


def sent_to_launcher():
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2,
                   signal.SIGWINCH):
        process = start()
        process.send_signal(number)
        say(number.name, "to the launcher ->", process.stdout.read().strip(), process.wait())


def deadly():
    """A program that does not handle the signal: the launcher tells its death."""
    for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT):
        process = start(code="import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_DFL)\n"
                        "print('ready', flush=True)\ntime.sleep(60)")
        process.send_signal(number)
        process.stdout.read()
        say(number.name, "kills ->", process.wait())


def from_program_itself():
    """kill(0, ...) reaches the launcher too; it must not come back to the program."""
    code = ("import os, signal, time\nseen = []\nsignal.signal(signal.SIGUSR1, lambda *a: "
            "seen.append(1))\nprint('ready', flush=True)\nos.kill(0, signal.SIGUSR1)\n"
            "time.sleep(0.5)\nprint('seen', len(seen))")
    process = start(code=code, start_new_session=True)
    say("kill(0) ->", process.stdout.read().strip(), process.wait())


class Terminal:
    """A shell with job control on a terminal of its own."""

    def __init__(self):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ["PS1"] = "PROMPT "
            os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
        self.text = ""
        self.expect("PROMPT ")

    def read(self, seconds):
        if select.select([self.fd], [], [], seconds)[0]:
            try:
                self.text += os.read(self.fd, 65536).decode("utf-8", "replace")
            except OSError:
                return

    def expect(self, pattern, seconds=20):
        end = time.monotonic() + seconds
        while True:
            found = re.search(pattern, self.text)
            if found:
                self.text = self.text[found.end():]
                return found.group(0)
            if time.monotonic() > end:
                raise SystemExit(f"no {pattern!r} on the terminal, but {self.text!r}")
            self.read(0.1)

    def send(self, text):
        os.write(self.fd, text.encode())

    def close(self):
        self.send("exit\n")
        os.close(self.fd)
        os.waitpid(self.pid, 0)


def typed():
    with open("counter.py", "w", encoding="utf-8") as out:
        out.write(COUNTER)
    terminal = Terminal()
    command = f"memhawk run -q -- {sys.executable} counter.py; echo status $?\n"

    terminal.send(command)
    terminal.expect("ready")
    terminal.send("\x03")
    say("Ctrl-C ->", terminal.expect(r"seen: [A-Z0-9 ]*\w"), terminal.expect(r"status \d+"))

    terminal.send(command)
    terminal.expect("ready")
    terminal.send("\x1c")
    say("Ctrl-\\ ->", terminal.expect(r"seen: [A-Z0-9 ]*\w"), terminal.expect(r"status \d+"))

    terminal.send("memhawk run -q -- sleep 60; echo status $?\n")
    time.sleep(0.5)
    terminal.send("\x03")
    say("Ctrl-C on sleep ->", terminal.expect(r"status \d+"))

    terminal.send(f"memhawk run -q -- {sys.executable} counter.py\n")
    terminal.expect("ready")
    terminal.send("\x1a")
    say("Ctrl-Z ->", terminal.expect("Stopped"))
    time.sleep(1.5)  # longer than the counter would wait
    terminal.expect("PROMPT ")
    terminal.send("jobs | wc -l; fg; echo status $?\n")
    say("fg ->", terminal.expect(r"seen: [A-Z0-9 ]*\w"), terminal.expect(r"status \d+"))

    terminal.expect("PROMPT ")
    terminal.send("memhawk run -q -- cat & sleep 0.5; jobs; echo asked\n")
    say("reading in the background ->", terminal.expect("Stopped"))
    terminal.expect("asked\r")
    terminal.expect("PROMPT ")
    terminal.send("fg\n")
    time.sleep(0.3)
    terminal.send("typed words\n\x04")
    terminal.expect("typed words")
    say("fg, then cat says ->", terminal.expect("typed words"))
    terminal.close()


def stopped_by_debugger():
    """SIGSTOP for the program alone must not stop the launcher: nobody would wake it."""
    code = "import os\nprint('ready', flush=True)\nprint(os.getpid(), flush=True)\nos.read(0, 1)"
    process = start(code=code, stdin=subprocess.PIPE)
    child = int(process.stdout.readline())
    os.kill(child, signal.SIGSTOP)
    time.sleep(0.3)
    with open(f"/proc/{process.pid}/stat", encoding="utf-8") as stat:
        say("program stopped, launcher", stat.read().rsplit(")", 1)[1].split()[0] == "S")
    os.kill(child, signal.SIGCONT)
    process.stdin.close()
    say("and on ->", process.wait())


sent_to_launcher()
deadly()
from_program_itself()
typed()
stopped_by_debugger()
