# SPDX-License-Identifier: Apache-2.0
"""What test_view_server.py stands on: the server as a process, requests byte by byte, streams of
events, and a real program that is stepped. Only the standard library."""
import gzip
import http.client
import json
import os
import queue
import re
import resource
import signal
import socket
import subprocess
import threading
import time

PATHS = {}  # memhawk, library, stepped: set by main


def environment():
    kept = {k: v for k, v in os.environ.items()
            if not k.startswith(("MEMHAWK", "LD_PRELOAD", "DEBUGINFOD", "DISPLAY", "WAYLAND", "BROWSER"))}
    return {**kept, "LC_ALL": "C.UTF-8", "MEMHAWK_LIB": PATHS["library"],
            "XDG_CACHE_HOME": PATHS["cache"]}


def wait_until(what, check, seconds=20):
    """The first true value of CHECK."""
    end = time.monotonic() + seconds
    while True:
        value = check()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {seconds} s")
        time.sleep(0.02)


class Server:
    """`memhawk view` on a free port."""

    def __init__(self, *arguments, more=None, opening=False):
        self.errors = open(os.path.join(PATHS["scratch"], "server.err"), "w+b")
        self.process = subprocess.Popen([PATHS["memhawk"], "view", *([] if opening else ["--no-open"]), *arguments],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=self.errors, env={**environment(), **(more or {})})
        self.lines = [self.process.stdout.readline().decode() for _ in range(2)]
        match = re.fullmatch(r"http://(\[[^]]+\]|[^:/]+):(\d+)/\?token=([0-9a-f]{32})\n", self.lines[0])
        assert match, (self.lines, self.stderr())
        self.name, self.port, self.token = match[1], int(match[2]), match[3]
        self.host = f"{self.name}:{self.port}"

    def stderr(self):
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")

    def connect(self, seconds=20):
        address = self.name.strip("[]") if self.name.startswith(("[", "127.")) else "127.0.0.1"
        return socket.create_connection((address, self.port), seconds)

    def raw(self, data, seconds=20):
        """What comes back for these bytes until the server closes, or says nothing for a while."""
        with self.connect(seconds) as s:
            try:
                s.sendall(data)
            except OSError:
                pass  # hung up on us while we still talk
            got = b""
            try:
                while chunk := s.recv(65536):
                    got += chunk
            except OSError:
                pass
            return got

    def get(self, path, method="GET", headers=None, host=None):
        """(status, headers in lower case, body) of one request; the Host is right unless given."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.sock = self.connect(60)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for value in [self.host] if host is None else host:
            connection.putheader("Host", value)
        for name, value in (headers or {}).items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, body

    def api(self, name, query="", headers=None, method="GET"):
        return self.get(f"/api/v1/{name}?token={self.token}&{query}", method, headers)

    def json(self, name, query=""):
        status, _, body = self.api(name, query)
        assert status == 200, (name, query, status, body[:300])
        return json.loads(body)

    def processes(self):
        return self.json("processes")["processes"]

    def rss(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            return int(re.search(r"VmRSS:\s+(\d+)", status.read())[1]) * 1024

    def stop(self, number=signal.SIGTERM):
        """Exit status and seconds."""
        begin = time.monotonic()
        self.process.send_signal(number)
        status = self.process.wait(60)
        self.process.stdout.close()
        return status, time.monotonic() - begin

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if self.process.poll() is None:
            status, _ = self.stop()
            assert kind or status == 0, (status, self.stderr()[-3000:])
        else:
            assert kind or self.process.returncode == 0, (self.process.returncode,
                                                          self.stderr()[-3000:])
        self.errors.close()


class Events:
    """A stream of events, read by a thread: (seconds, kind, data) in the order of arrival."""

    def __init__(self, server):
        self.socket = server.connect(120)
        self.socket.sendall(f"GET /api/v1/events?token={server.token} HTTP/1.1\r\nHost: {server.host}\r\n"
                            "\r\n".encode())
        self.answer = http.client.HTTPResponse(self.socket)
        self.answer.begin()
        assert self.answer.status == 200, self.answer.status
        self.queue, self.closed = queue.Queue(), threading.Event()
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        kind, comments = None, 0
        try:
            while line := self.answer.readline():
                text = line.decode().rstrip("\n")
                if text.startswith("event: "):
                    kind = text[7:]
                elif text.startswith("data: "):
                    self.queue.put((time.time(), kind, json.loads(text[6:])))
                elif text.startswith(":"):
                    comments += 1
                    self.queue.put((time.time(), "comment", text))
        except (OSError, ValueError, AttributeError, http.client.HTTPException):
            pass
        self.closed.set()

    def next(self, kind, check=lambda data: True, seconds=20):
        """Takes events off until one of KIND that passes CHECK."""
        end, seen = time.monotonic() + seconds, []
        while (left := end - time.monotonic()) > 0:
            try:
                event = self.queue.get(timeout=left)
            except queue.Empty:
                break
            if event[1] == kind and check(event[2]):
                return event
            seen.append(event)
        raise AssertionError(f"no {kind} within {seconds} s, but {seen}")

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self.thread.join(10)


class Program:
    """tests/programs/stepped.c under `memhawk run`; each step ends with a snapshot."""

    def __init__(self, folder, *options):
        self.process = subprocess.Popen(
            [PATHS["memhawk"], "run", "-q", "-o", folder, "-i", "3600000", *options, "--",
             PATHS["stepped"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment())

    def step(self, line):
        """The wall clock in seconds when the snapshot had been written."""
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().split()
        assert answer and answer[0] == b"done", answer
        return int(answer[1]) / 1e9

    def end(self, line=None):
        if line:
            self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.close()
        self.process.stdout.read()
        self.process.stdout.close()
        return self.process.wait(60)


def report(path, *options):
    done = subprocess.run([PATHS["memhawk"], "report", "--format", "json", *options, path],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True,
                          env=environment())
    return json.loads(done.stdout)


def decode(encoding, body):
    if encoding == "gzip":
        return gzip.decompress(body)
    return subprocess.run(["zstd", "-dcq"], input=body, stdout=subprocess.PIPE, check=True).stdout


def want_files(count):
    """Room for COUNT descriptors of our own; False where the machine does not allow it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count:
        if hard != resource.RLIM_INFINITY and hard < count:
            return False
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))
    return True
