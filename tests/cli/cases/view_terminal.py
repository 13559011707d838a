# SPDX-License-Identifier: Apache-2.0
"""`memhawk run --view` at a terminal: the page stays after the program where somebody has looked, until
Ctrl-C; it does not where nobody has, and Ctrl-C during the program is the program's."""
import os
import pty
import re
import select
import subprocess
import time
import urllib.error
import urllib.request

with open("browser", "w", encoding="ascii") as script:
    script.write('#!/bin/sh\nexec python3 -c \'import sys, urllib.request as u; u.urlopen(sys.argv[1]).read()\' "$1"\n')
os.chmod("browser", 0o755)


def status_of(url):
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.status
    except urllib.error.URLError as error:
        return type(error.reason).__name__


class Terminal:
    def __init__(self, program, browser, background=False):
        print("$ run --view --", program, "| browser:" if browser else "| no browser",
              "in the background" if background else "")
        self.output, command = "", ["memhawk", "run", "-q", "--view", "-o", "p", "--", "sh", "-c", program]
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
                os.environ.pop(name, None)
            if browser:
                os.environ["BROWSER"] = os.path.abspath("browser")
            if background:  # a shell with job control puts it there
                os.execlp("bash", "bash", "-c", 'set -m; "$@" & wait $!; exit $?', "bash", *command)
            os.execvp(command[0], command)

    def read(self, until=None, seconds=20):
        """Output up to the text, or to the end."""
        end = time.monotonic() + seconds
        while (until is None or until not in self.output) and time.monotonic() < end:
            if select.select([self.fd], [], [], 0.05)[0]:
                try:
                    got = os.read(self.fd, 4096)
                except OSError:  # the other side is gone
                    got = b""
                if not got:
                    break
                self.output += got.decode().replace("\r\n", "\n")
        if until is not None and until not in self.output:
            print(f"no '{until}' but: {self.output}")
        return re.search(r"http://\S+", self.output).group(0)

    def press(self, key):
        os.write(self.fd, key)

    def end(self):
        self.read()
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self.fd)
        text = re.sub(r":\d+/\?token=[0-9a-f]{32}", ":PORT/?token=TOKEN", self.output)
        print(re.sub(r"\[1\]\+ .*\n", "", text).strip())  # the shell's notice
        print("status", status)


def main():
    terminal = Terminal("echo out; exit 5", browser=True)
    url = terminal.read("stays")
    time.sleep(0.3)
    print("after the program:", status_of(url))
    terminal.press(b"\x03")
    terminal.end()
    print("after Ctrl-C:", status_of(url))

    terminal = Terminal("exit 6", browser=False)
    terminal.end()

    terminal = Terminal("trap 'echo caught; exit 7' INT; echo ready; while :; do sleep 0.05; done", browser=True)
    url = terminal.read("ready")
    terminal.press(b"\x03")
    terminal.read("stays")
    print("after Ctrl-C of the program:", status_of(url))
    terminal.press(b"\x03")
    terminal.end()

    # somebody else looks, and the output has another reader, who need not wait
    terminal = Terminal("read line; exit 0", browser=False)
    url = terminal.read("token=")
    terminal.read(re.search(r"token=\S{32}", terminal.output).group(0))
    print("beside the program:", status_of(url))
    terminal.press(b"\n")
    terminal.read("stays")
    terminal.press(b"\x03")
    terminal.end()

    terminal = Terminal("sleep 0.5; exit 8", browser=True, background=True)
    terminal.end()
    left = subprocess.run(["pgrep", "-f", "memhawk run -q --view -o p -- sh -c (echo|exit|trap|read|sleep)"],
                          stdout=subprocess.PIPE, check=False).stdout
    print("left:", len(left.split()))


main()
