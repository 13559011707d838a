#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The server of `memhawk view`, attacked and watched: the real command serves profiles of a really
running program, and the requests are made byte by byte where it matters.

  test_view_server.py --memhawk BUILD/src/cli/memhawk --library BUILD/src/runtime/libmemhawk.so
                      --stepped BUILD/tests/programs/stepped [TEST ...]

Prints TAP. Exit status 1 when a test failed.
"""
import argparse
import glob
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback

from view_harness import (PATHS, Events, Program, Server, decode, environment, report, wait_until,
                          want_files)

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = []
ENDPOINTS = ["process", "timeline", "flame", "functions", "series", "windows"]
POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
          "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; "
          "frame-ancestors 'none'")


def test(function):
    TESTS.append(function)
    return function


def folder():
    return tempfile.mkdtemp(dir=PATHS["scratch"])


def record(where, *lines):
    """A whole run; the path of its profile."""
    before = set(os.listdir(where))
    program = Program(where)
    for line in lines:
        program.step(line)
    status = program.end()
    assert status == 0, status
    names = sorted(set(os.listdir(where)) - before)
    return os.path.join(where, names[0])


def refused(answer, status=403):
    assert answer[0] == status, answer
    return answer


# ---- who may ask -------------------------------------------------------------------------------

@test
def token():
    with Server(folder()) as server:
        good = server.token
        assert server.get(f"/?token={good}")[0] == 200
        for path in ("/", "/index.html", f"/?token={good[:-1]}", f"/?token={good}0", "/?token=",
                     f"/?token={good.upper()}" if good != good.upper() else "/",
                     f"/?token={'0' * 32}", "/?token=%00", f"/?token={good}%00", f"/?ticket={good}"):
            _, headers, body = refused(server.get(path))
            assert b"printed" in body and headers["content-type"].startswith("text/html"), body
        for path in ("processes", "events", "nothing", "flame?id=1", f"processes?token={good[::-1]}x"):
            _, headers, body = refused(server.get("/api/v1/" + path))
            assert json.loads(body)["error"]["code"] == "forbidden", body
        # in a header, a fragment or the body it is no token
        refused(server.get("/api/v1/processes", headers={"Authorization": "Bearer " + good,
                                                         "Cookie": "token=" + good}))
        for path in ("/app.js", "/app.css", "/icon.svg"):  # nothing in them is secret
            assert server.get(path)[0] == 200, path
            assert good.encode() not in server.get(path)[2]
    with Server(folder()) as other:
        assert other.token != good
        refused(other.get(f"/?token={good}"))


@test
def ticket():
    """What the browser is started with: a ticket that works once; the token is never on a command
    line."""
    where, out = folder(), os.path.join(folder(), "words")
    browser = os.path.join(folder(), "browser")
    with open(browser, "w", encoding="ascii") as script:
        script.write(f'#!/bin/sh\nprintf "%s\\n" "$@" >{out}.new && mv {out}.new {out}\n')
    os.chmod(browser, 0o755)
    with Server(where, opening=True, more={"BROWSER": browser}) as server:
        wait_until("the browser", lambda: os.path.exists(out))
        with open(out, encoding="ascii") as words:
            url = words.read().split()[-1]
        assert server.token not in url and url.startswith(f"http://{server.host}/?ticket="), url
        path = url[len(f"http://{server.host}"):]
        refused(server.get(path[:-1] + ("0" if path[-1] != "0" else "1")))
        refused(server.get(path, host=["evil.example"]))
        status, headers, _ = server.get(path)
        assert status == 302 and headers["location"] == f"/?token={server.token}", headers
        refused(server.get(path))


@test
def host():
    with Server(folder()) as server:
        path, port = f"/api/v1/processes?token={server.token}", server.port
        for good in (f"127.0.0.1:{port}", f"localhost:{port}", f"LOCALHOST:{port}", f"[::1]:{port}"):
            assert server.get(path, host=[good])[0] == 200, good
        for bad in ("evil.example", f"evil.example:{port}", "127.0.0.1", "localhost", f"127.0.0.1:{port + 1}",
                    f"127.0.0.1.evil.example:{port}", f"localhost.evil.example:{port}", f"127.0.0.2:{port}",
                    f"192.0.2.1:{port}", f"127.1:{port}", f"2130706433:{port}", f"0.0.0.0:{port}",
                    f"127.0.0.1:{port}0", f"127.0.0.1:{port}@evil.example", f"x@127.0.0.1:{port}", f":{port}",
                    f"127.0.0.1:{port}/", f"127.0.0.1: {port}", f"127.0.0.1:+{port}", f"[::1:{port}",
                    f"[::ffff:127.0.0.1]:{port}", f"localhost.:{port}", "x" * 3000, f"127.0.0.1:{port + 65536}"):
            for where in (path, f"/?token={server.token}", "/app.js"):
                assert server.get(where, host=[bad])[0] in (400, 403), bad
        # none, two, none of HTTP/1.0
        assert server.get(path, host=[])[0] in (400, 403)
        for pair in ([f"127.0.0.1:{port}", "evil.example"], ["evil.example", f"127.0.0.1:{port}"]):
            assert server.get(path, host=pair)[0] in (400, 403)
        assert b" 200 " not in server.raw(f"GET {path} HTTP/1.0\r\n\r\n".encode())


@test
def listening():
    """Other addresses, and which names they go by."""
    with Server("--listen", "::1", folder()) as server:
        assert server.name == "[::1]"
        path = f"/?token={server.token}"
        assert server.get(path)[0] == 200
        assert server.get(path, host=[f"localhost:{server.port}"])[0] == 200
        refused(server.get(path, host=[f"[::2]:{server.port}"]))
    with Server("--listen", "127.0.0.2", folder()) as server:
        assert server.name == "127.0.0.2"
        refused(server.get(f"/?token={server.token}", host=[f"evil.example:{server.port}"]))
    with Server("--listen", "0.0.0.0", folder()) as server:
        path, port = f"/?token={server.token}", server.port
        assert server.name == socket.gethostname(), server.lines
        for good in (socket.gethostname(), "127.0.0.1", "localhost", "192.0.2.7", "[2001:db8::1]"):
            assert server.get(path, host=[f"{good}:{port}"])[0] == 200, good
        for bad in ("evil.example", "x" + socket.gethostname(), "192.0.2.7.evil.example", "1.2.3", "[zz::1]"):
            refused(server.get(path, host=[f"{bad}:{port}"]))


@test
def origin():
    with Server(folder()) as server:
        api, page = f"/api/v1/processes?token={server.token}", f"/?token={server.token}"
        own = f"http://{server.host}"
        assert server.get(api, headers={"Origin": own, "Sec-Fetch-Site": "same-origin"})[0] == 200
        assert server.get(page, headers={"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"})[0] == 200
        # a link on another page may lead here, but nothing else of it
        assert server.get(page, headers={"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"})[0] == 200
        for bad in ("http://evil.example", "null", "https://" + server.host, own + "0", own + "/",
                    f"http://localhost:{server.port}", f"http://127.0.0.1:{server.port + 1}", ""):
            for path in (api, page, "/app.js"):
                refused(server.get(path, headers={"Origin": bad}))
        for site in ("cross-site", "same-site", "", "Same-Origin2"):
            for path in (api, "/app.js", "/icon.svg"):
                refused(server.get(path, headers={"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate"}))
            refused(server.get(page, headers={"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"}))
        # nobody else may read an answer either
        assert "access-control-allow-origin" not in server.get(api, headers={"Origin": own})[1]


@test
def methods():
    with Server(folder()) as server:
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "CONNECT", "get", "FOO"):
            for path in (f"/?token={server.token}", f"/api/v1/processes?token={server.token}", "/app.js"):
                got = server.raw(f"{method} {path} HTTP/1.1\r\nHost: {server.host}\r\nContent-Length: 0\r\n"
                                 "Connection: close\r\n\r\n".encode())
                assert b" 405 " in got.split(b"\r\n")[0], (method, got[:200])
                assert b"Allow: GET, HEAD\r\n" in got
        for path in (f"/?token={server.token}", f"/api/v1/processes?token={server.token}", "/app.js"):
            get, head = server.get(path), server.get(path, "HEAD")
            assert head[0] == 200 and head[2] == b"", head
            assert head[1]["content-length"] == get[1]["content-length"] == str(len(get[2]))
        got = server.raw(f"HEAD /api/v1/events?token={server.token} HTTP/1.1\r\nHost: {server.host}\r\n"
                         "Connection: close\r\n\r\n".encode())
        assert got.startswith(b"HTTP/1.1 200") and got.endswith(b"\r\n\r\n"), got


@test
def traversal():
    """Nothing is served from disk, however it is written."""
    with Server(folder()) as server:
        for path in ("/../../../../etc/passwd", "/%2e%2e/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/etc/passwd",
                     "/%2fetc%2fpasswd", "/..%2f..%2fetc%2fpasswd", "/..%5c..%5cetc%5cpasswd", "/app.js/../../etc/passwd",
                     "/./etc/passwd", "/app.js/", "/APP.JS", "/app.js%20", "/.git/config", "/package.json", "/src/main.tsx",
                     "/%c0%ae%c0%ae/etc/passwd", "file:///etc/passwd", "http://evil.example/etc/passwd",
                     f"http://{server.host}/etc/passwd", "*", "/api", "/api/v1", "/api/v2/processes", "/api/v1//processes"):
            got = server.raw(f"GET {path}?token={server.token} HTTP/1.1\r\nHost: {server.host}\r\n"
                             "Connection: close\r\n\r\n".encode())
            assert got.split(b" ", 2)[1] in (b"404", b"400", b"403"), (path, got[:300])
            assert b"root:" not in got, path
        for name in ("../processes", "processes/..", "%2e%2e/processes", "", "process%00es"):
            assert server.api(name)[0] in (400, 404), name
        for value in ("/etc/passwd", "../../etc/passwd", "%00", "-1", "1e3", "4294967295", "99999999999999999999"):
            status, _, body = server.api("download", f"id={value}&format=binpb&path={value}")
            assert status in (400, 404) and b"root:" not in body, (value, status, body)


# ---- how it answers ----------------------------------------------------------------------------

@test
def headers():
    where = folder()
    record(where, "cache 3")
    with Server(where) as server:
        token = server.token
        for path, status in (("/?token=" + token, 200), ("/", 403), ("/app.js", 200), ("/app.css", 200), ("/icon.svg", 200),
                             ("/nothing", 404), ("/api/v1/processes?token=" + token, 200), ("/api/v1/processes", 403),
                             ("/api/v1/nothing?token=" + token, 404), ("/api/v1/process?token=" + token, 400),
                             (f"/api/v1/download?token={token}&id=1&format=html", 200)):
            got, given, _ = server.get(path)
            assert got == status, (path, got)
            assert given["content-security-policy"] == POLICY
            assert given["x-content-type-options"] == "nosniff"
            assert given["referrer-policy"] == "no-referrer"
            assert given["cache-control"] == "no-store"
            assert given["cross-origin-opener-policy"] == "same-origin"
            assert given["cross-origin-resource-policy"] == "same-origin"
            assert given["x-frame-options"] == "DENY"
        types = {"/app.js": "text/javascript", "/app.css": "text/css", "/icon.svg": "image/svg+xml",
                 "/?token=" + token: "text/html"}
        for path, kind in types.items():
            assert server.get(path)[1]["content-type"].startswith(kind), path
        page = server.get("/?token=" + token)[2].decode()
        assert "<script type=\"module\"" in page and "app.js" in page and "style=" not in page
        _, given, _ = server.api("download", "id=1&format=folded")
        assert given["content-disposition"].startswith('attachment; filename="stepped-'), given
        events = Events(server)
        assert events.answer.headers["content-type"] == "text/event-stream"
        assert events.answer.headers["content-security-policy"] == POLICY
        events.close()


@test
def hostile_names():
    """A profile may call its program anything: the name stays within its field of the answer."""
    where, name = folder(), 'a"; x=<b>\r\nX-Injected: 1\r\n\r\n/../'
    description = os.path.join(folder(), "text")
    with open(os.path.join(HERE, "..", "golden", "v1.txt"), encoding="utf-8") as golden:
        text = golden.read().replace('"demo"', json.dumps(name))
    with open(description, "w", encoding="utf-8") as out:
        out.write(text)
    subprocess.run([sys.executable, os.path.join(HERE, "..", "make_profile.py"), description,
                    os.path.join(where, "memhawk_x_1_protobuf.binpb")], check=True)
    with Server(where) as server:
        process = server.processes()[0]
        assert process["name"] == name, process
        for kind in ("folded", "html", "pprof"):
            status, given, body = server.api("download", f"id=1&format={kind}")
            value = given["content-disposition"]
            assert status == 200 and body and "x-injected" not in given
            assert value.startswith('attachment; filename="') and value.endswith('"'), value
            inner = value[len('attachment; filename="'):-1]
            assert all(c.isascii() and (c.isalnum() or c in "._-") for c in inner), value


@test
def encodings():
    where = folder()
    record(where, "cache 3")
    with Server(where) as server:
        wait_until("names", lambda: (lambda s: s["done"] == s["total"])(server.json("process", "id=1")["symbols"]))
        for path in ("/app.js", f"/api/v1/process?id=1&token={server.token}"):
            plain = server.get(path)
            assert "content-encoding" not in plain[1] and len(plain[2]) > 1024
            assert plain[1]["vary"].lower() == "accept-encoding"
            for accept, want in (("gzip", "gzip"), ("zstd", "zstd"), ("gzip, deflate, br, zstd", "zstd"), ("GZIP;q=0.5", "gzip"),
                                 ("gzip;q=0", None), ("zstd;q=0, gzip", "gzip"), ("gzip;q=0.0, zstd; q=0", None),
                                 ("br", None), ("", None), ("gzipx", None), (",,;=,gzip", "gzip")):
                status, given, body = server.get(path, headers={"Accept-Encoding": accept})
                assert status == 200 and given.get("content-encoding") == want, (accept, given)
                assert (decode(want, body) if want else body) == plain[2], accept
                assert want is None or len(body) < len(plain[2])
        small = server.api("windows", "id=1", {"Accept-Encoding": "gzip"})
        assert "content-encoding" not in small[1] and len(small[2]) < 1024


@test
def parameters():
    where = folder()
    record(where, "cache 3")
    with Server(where) as server:
        for query in ("id=1&id=1", "id=", "id=x", "id=-1", "id=1.0", "id=%201", "id=0x1", "id=1%00", "", "id=1&x=%ff",
                      "&".join(f"a{i}=1" for i in range(50)) + "&id=1"):
            status, _, body = server.api("process", query)
            assert status == 400 and json.loads(body)["error"]["code"] == "bad-request", (query, body)
        assert server.api("process", "id=77")[0] == 404
        for query in ("mode=x", "metric=x", "granularity=x", "at=x&mode=moment", "at=-1&mode=moment", "at=1e3&mode=moment",
                      "mode=between&from=5&to=4", "from=5&to=4", "filter=(", "filter=" + "x" * 501, "mode=window",
                      "mode=window&window=a&metric=overhead", "filter=((a{1,255}){1,255}){1,255}", "filter=a**",
                      "mode=moment&at=99999999999999999999999"):
            for name in ("download&format=folded", "flame", "functions"):
                name, _, more = name.partition("&")
                status, _, body = server.api(name, f"id=1&{more}&{query}".replace("\\", "%5c").replace("{", "%7b"))
                assert status == 400, (name, query, status, body)
        for query, status, code in (("mode=window&window=none", 404, "not-found"), ("from=5&to=6", 404, "no-snapshot")):
            got, _, body = server.api("download", f"id=1&format=folded&{query}")
            assert got == status and json.loads(body)["error"]["code"] == code, body


# ---- figures -----------------------------------------------------------------------------------

METRICS = ["live-bytes", "live-count", "total-bytes", "total-count", "temporary", "overhead"]


def key(metric):
    return metric.replace("-", "_")


@test
def figures():
    """Every figure is that of `memhawk report` on the same file."""
    where = folder()
    path = record(where, "cache 20", "mark half way", "requests 7", "drop 5", "index 9", "window 4 parse", "hold 64", "nest 2")
    with Server(where) as server:
        wait_until("names", lambda: (lambda s: s["done"] == s["total"])(server.json("process", "id=1")["symbols"]))
        process, end = server.json("process", "id=1"), report(path, "--at", "end")
        about = end["process"]
        assert (process["name"], process["pid"], process["parent"]) == (about["name"], about["pid"], about["parent_pid"])
        assert process["start"] == about["start_ns"] // 1000
        assert process["arguments"] == about["arguments"] and process["host"] == about["host"]
        assert process["state"] == "ended" and process["end"] == "exit status 0"
        assert process["peak_bytes"] == end["peak"]["bytes"] and process["peak_time"] == end["peak"]["time_ns"] // 1000
        assert process["metrics"] == {m: end["totals"][key(m)] for m in METRICS}
        assert process["live_bytes"] == end["totals"]["live_bytes"]
        assert [m["text"] for m in process["marks"]] == ["half way"]
        assert [m["path"] for m in process["modules"]] == [m["path"] for m in end["modules"]]
        assert [m["build_id"] for m in process["modules"]] == [m["build_id"] for m in end["modules"]]
        assert process["damage"] == [] and process["losses"] == {} and not process["lossy"]
        assert process["file_bytes"] == os.path.getsize(path)
        coverage = process["coverage"]
        assert coverage["usable_bytes"] == coverage["live_bytes"] + end["totals"]["overhead"]
        assert len(process["sparkline"]) == 60 and process["sparkline"][-1] >= process["live_bytes"]

        timeline = server.json("timeline", "id=1")
        assert timeline["snapshots"] == process["snapshots"]
        for i, time_us in enumerate(timeline["time"]):
            seconds = (time_us * 1000 + 999 - about["start_ns"]) / 1e9
            state = report(path, "--at", f"{seconds:.9f}" if i + 1 < len(timeline["time"]) else "end")
            for metric in METRICS:
                assert timeline[key(metric)][i] == state["sum"][key(metric)], (i, metric)

        first, last = timeline["time"][1], timeline["time"][-2]
        spans = [("mode=peak", ["--at", "peak"]), ("mode=moment&at=end", ["--at", "end"]),
                 ("mode=between", ["--from", "start", "--to", "end"]),
                 ("mode=window&window=parse&metric=total-count", ["--window", "parse"]),
                 ("mode=moment&at=end&filter=cache_put", ["--at", "end", "--filter", "cache_put"]),
                 ("mode=moment&at=end&metric=total-count&granularity=line",
                  ["--at", "end", "--metric", "total-count", "--granularity", "line"]),
                 (f"mode=between&from={first}&to={last}",
                  ["--from", f"{(first * 1000 + 999 - about['start_ns']) / 1e9:.9f}",
                   "--to", f"{(last * 1000 + 999 - about['start_ns']) / 1e9:.9f}"])]
        for query, options in spans:
            got = json.loads(server.api("download", f"id=1&format=json&{query}")[2])
            want = report(path, *options)
            for name in ("stacks", "sum", "totals", "peak", "view"):
                assert got[name] == want[name], (query, name, got[name], want[name])
        for format in process["formats"]:
            status, given, body = server.api("download", f"id=1&format={format['name']}")
            assert status == 200 and body, format
            assert given["content-disposition"].rstrip('"').endswith("." + format["extension"]), given
        with open(path, "rb") as file:
            assert server.api("download", "id=1&format=binpb")[2] == file.read()
        row = server.json("windows", "id=1")["windows"][0]
        assert (row["name"], row["iterations"], row["allocations"], row["frees"]) == ("parse", 4, 12, 8), row
        assert row["bytes"] == 480 and row["per_iteration"]["bytes"] == [120, 120, 120]


@test
def window_titles():
    """Windows of both scopes that share a name are told apart."""
    where = folder()
    record(where, "window 4 parse", "whole 2 parse", "window 1 other")
    with Server(where) as server:
        rows = {r["title"]: r for r in server.json("windows", "id=1")["windows"]}
        assert {t: (r["name"], r["scope"], r["allocations"]) for t, r in rows.items()} == {
            "parse (thread)": ("parse", "thread", 12), "parse (process)": ("parse", "process", 6), "other": ("other", "thread", 3)}
        for title, allocations in (("parse (thread)", 12), ("parse (process)", 6), ("other", 3), ("parse", 12)):
            query = "id=1&mode=window&metric=total-count&window=" + title.replace(" ", "%20")
            assert server.json("flame", query)["totals"]["total-count"] == [allocations], title


# ---- live --------------------------------------------------------------------------------------

@test
def live():
    """Each snapshot of a running program arrives, with its figures."""
    where = folder()
    with Server(where) as server:
        answer = server.json("processes")
        assert answer["processes"] == [] and answer["broken"] == [] and answer["folders"] == [where], answer
        events = Events(server)
        assert events.next("hello")[2]["memhawk"]
        program = Program(where)
        program.step("cache 1")
        events.next("processes")
        wait_until("the process", server.processes)
        process = server.processes()[0]
        assert process["state"] == "running" and process["end"] is None and process["name"] == "stepped"
        id_, delays = process["id"], []
        program.step("cache 1")
        base = server.json("process", f"id={id_}")
        live_bytes = wait_until("two steps", lambda: server.json("process", f"id={id_}")["snapshots"] >= 2 and
                                server.json("process", f"id={id_}"))["metrics"]["live-bytes"]
        assert base["id"] == id_
        for step in range(1, 21):
            written = program.step("cache 10")
            want = live_bytes + step * 10000
            came, _, data = events.next("snapshot", lambda d: d["id"] == id_ and d["live_bytes"] >= want)
            assert data["live_bytes"] == want, (data, want)
            delays.append(came - written)
        delays.sort()
        print(f"# snapshot to event: median {delays[10] * 1000:.1f} ms, worst {delays[-1] * 1000:.1f} ms")
        assert delays[10] < 1
        end = server.json("process", f"id={id_}")
        assert end["metrics"]["live-bytes"] == want and end["live_bytes"] == want
        program.step("exec")  # a child appears
        wait_until("the child", lambda: len(server.processes()) == 2)
        child = [p for p in server.processes() if p["id"] != id_][0]
        assert child["parent_id"] == id_ and child["parent"] == end["pid"], child
        program.step("reap")
        assert program.end("exit 3") == 3
        event = events.next("ended", lambda d: d["id"] == id_)[2]
        assert event["end"] == "exit status 3", event
        assert wait_until("the end", lambda: [p for p in server.processes()
                                              if p["id"] == id_ and p["state"] == "ended"])[0]["end"] == "exit status 3"
        events.close()


@test
def killed():
    """A program that is killed is told as gone."""
    where = folder()
    with Server(where) as server:
        events, program = Events(server), Program(where)
        program.step("cache 5")
        wait_until("the process", server.processes)
        process = server.processes()[0]
        os.kill(process["pid"], signal.SIGKILL)
        program.end()
        state = wait_until("gone", lambda: [p for p in server.processes() if p["state"] == "gone"])[0]
        assert state["id"] == process["id"] and state["end"].startswith("not known"), state
        events.close()


@test
def slow_client():
    """One that reads a byte a second holds nobody up, costs nothing, and skips to what is newest."""
    where = folder()
    with Server(where) as server:
        program = Program(where)
        program.step("cache 1")
        wait_until("the process", server.processes)
        slow = server.connect()
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
        slow.sendall(f"GET /api/v1/events?token={server.token} HTTP/1.1\r\nHost: {server.host}\r\n\r\n".encode())
        slow.recv(1)
        fast, before, steps = Events(server), server.rss(), 20000
        fast.next("hello")
        begin, byte_at = time.monotonic(), time.monotonic()
        for step in range(steps):
            program.step("cache 1")
            if time.monotonic() - byte_at > 1:
                slow.recv(1)
                byte_at = time.monotonic()
        last = fast.next("snapshot", lambda d: d["snapshots"] == steps + 1)[2]
        print(f"# {steps} steps in {time.monotonic() - begin:.1f} s; RSS {before >> 20} to {server.rss() >> 20} MiB")
        assert server.rss() - before < 24 << 20 or PATHS["sanitized"], (before, server.rss())
        assert server.get(f"/?token={server.token}")[0] == 200
        slow.settimeout(10)
        text, begin = b"", time.monotonic()
        while b'"snapshots":%d}' % last["snapshots"] not in text[-2000:]:
            chunk = slow.recv(65536)
            assert chunk, "the slow client was cut off"
            text += chunk
        seen = text.count(b"event: snapshot")
        print(f"# it caught up in {time.monotonic() - begin:.1f} s with {seen} of {steps} events")
        assert seen < steps / 2  # the others were passed over, not kept for it
        slow.close()
        fast.close()
        program.end()


# ---- load and nonsense -------------------------------------------------------------------------

@test
def connections():
    if not want_files(3000):
        print("# skipped: not enough descriptors")
        return
    with Server(folder()) as server:
        idle = [server.connect() for _ in range(1000)]
        begin = time.monotonic()
        assert server.get(f"/?token={server.token}")[0] == 200
        assert server.json("processes")["processes"] == []
        streams = [Events(server) for _ in range(6)]
        print(f"# beside 1,000 idle connections: {(time.monotonic() - begin) * 1000:.0f} ms")
        assert time.monotonic() - begin < 5
        idle += [server.connect() for _ in range(150)]
        time.sleep(1)

        def was_refused(s):
            s.setblocking(False)
            try:
                return s.recv(1) == b""
            except BlockingIOError:
                return False
            except OSError:
                return True
        shut = [was_refused(s) for s in idle]
        assert not any(shut[:1000]), shut.index(True)
        assert 80 < sum(shut) <= 150 and shut[-1], sum(shut)
        for s in idle:
            s.close()
        wait_until("room again", lambda: server.get(f"/?token={server.token}")[0] == 200)
        assert all(not s.closed.is_set() for s in streams)
        for s in streams:
            s.close()
        # a thousand streams, all of them told
        streams = []
        for _ in range(1000):
            s = server.connect()
            s.sendall(f"GET /api/v1/events?token={server.token} HTTP/1.1\r\nHost: {server.host}\r\n\r\n".encode())
            streams.append(s)
        assert all(b"200" in s.recv(4096) for s in streams)
        assert server.get(f"/?token={server.token}")[0] == 200
        print(f"# 1,000 streams: RSS {server.rss() >> 20} MiB")
        assert server.rss() < 150 << 20 or PATHS["sanitized"]
        for s in streams:
            s.close()
        status, seconds = server.stop()
        assert status == 0 and seconds < 5, (status, seconds)


@test
def garbage():
    generator = random.Random(1)
    with Server(folder()) as server:
        head = f"GET /?token={server.token} HTTP/1.1\r\nHost: {server.host}\r\n".encode()
        end = b"Connection: close\r\n\r\n"
        texts = [b"", b"\r\n" * 100, b"\0" * 1000, b"GET", b"GET / HTTP/1.1\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
                 b"GET / HTTP/9.9\r\n\r\n", b"A" * 200000, b"GET /" + b"A" * 100000 + b" HTTP/1.1\r\n\r\n",
                 head + b"X: " + b"A" * 100000 + b"\r\n" + end, head + b"".join(b"X%d: 1\r\n" % i for i in range(5000)) + end,
                 head + b"Content-Length: 99999999999999999999\r\n" + end, head + b"Content-Length: -1\r\n" + end,
                 head + b"Content-Length: 1000000\r\n" + end + b"x" * 1000000, head + b": empty\r\n" + end,
                 head + b"Transfer-Encoding: chunked\r\n" + end + b"fffffffffffffffff\r\n", head + b"Bad\r\n" + end,
                 head + b"Transfer-Encoding: chunked\r\n" + end + b"5\r\nhello\r\n0\r\n\r\n", b"GET /?token=%zz%0 HTTP/1.1\r\n\r\n",
                 b"GET /?" + b"&" * 10000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"]
        texts += [bytes(generator.randrange(256) for _ in range(generator.randrange(1, 3000))) for _ in range(100)]
        for _ in range(200):  # a good request with a few bytes changed
            text = bytearray(head + end)
            for _ in range(generator.randrange(1, 4)):
                text[generator.randrange(len(text))] = generator.randrange(256)
            texts.append(bytes(text))
        for text in texts:
            s = server.connect()
            s.settimeout(0.3)
            try:
                s.sendall(text)
                s.shutdown(socket.SHUT_WR)
                answer = s.recv(100000)
                assert answer == b"" or answer.startswith(b"HTTP/1."), answer[:100]
            except OSError:
                pass
            s.close()
        half = [server.connect() for _ in range(50)]  # says half a word, stays
        for s in half:
            s.sendall(b"GET /?tok")
        begin = time.monotonic()
        for _ in range(100):
            assert server.get(f"/?token={server.token}")[0] == 200
        assert time.monotonic() - begin < 10
        assert server.process.poll() is None
        both = server.raw((head + b"\r\n" + head + end))  # one after the other on one connection
        assert both.count(b"HTTP/1.1 200") == 2


@test
def aborts():
    """Clients that leave amid an answer that is being computed or sent."""
    where = folder()
    record(where, "cache 20", "index 9")
    with Server(where) as server:
        paths = [f"/api/v1/{p}&token={server.token}" for p in
                 ("flame?id=1", "download?id=1&format=html", "download?id=1&format=binpb", "events?x=1", "processes?x=1")]
        for i in range(400):
            s = server.connect()
            s.sendall(f"GET {paths[i % len(paths)]} HTTP/1.1\r\nHost: {server.host}\r\n\r\n".encode())
            if i % 3 == 0:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # RST
            s.close()
        assert server.get(f"/?token={server.token}")[0] == 200
        # more than may wait at once: refused in words, and not for long
        crowd = [server.connect() for _ in range(600)] if want_files(3000) else []
        for s in crowd:
            s.sendall(f"GET {paths[1]} HTTP/1.1\r\nHost: {server.host}\r\nConnection: close\r\n\r\n".encode())
        answers = set()
        for s in crowd:
            s.settimeout(120)
            answers.add(s.recv(12))
            s.close()
        assert answers <= {b"HTTP/1.1 200", b"HTTP/1.1 503"}, answers
        assert server.json("processes")["processes"]


@test
def stopping():
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        where = folder()
        record(where, "cache 20")
        server = Server(where)
        with server:
            events, half, idle = Events(server), server.connect(), server.connect()
            events.next("hello")
            half.sendall(b"GET /api")
            busy = [server.connect() for _ in range(30)]
            for s in busy:
                s.sendall(f"GET /api/v1/download?id=1&format=html&token={server.token} HTTP/1.1\r\n"
                          f"Host: {server.host}\r\n\r\n".encode())
            status, seconds = server.stop(number)
            assert status == 0 and seconds < 5, (number, status, seconds)
            assert events.closed.wait(5) and idle.recv(1) == b""
            assert f"kill {server.process.pid}" in server.lines[1], server.lines
            assert server.stderr() == "", server.stderr()
        again = Server("--port", str(server.port), where)  # the port is free at once
        with again:
            assert again.port == server.port


@test
def ping():
    """A comment every 15 s, which also finds clients that are gone."""
    with Server(folder()) as server:
        events = Events(server)
        begin = time.monotonic()
        events.next("comment", seconds=17)
        assert 10 < time.monotonic() - begin < 17
        events.close()


@test
def closed_descriptors():
    """Started without standard descriptors it serves as ever, and none of them is a connection."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    process = subprocess.Popen(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", PATHS["memhawk"], "view", "--no-open", "--port",
                                str(port), folder()], env=environment())

    def answer():
        try:
            with socket.create_connection(("127.0.0.1", port), 5) as s:
                s.sendall(b"GET / HTTP/1.0\r\nHost: x\r\n\r\n")
                return s.recv(100)
        except OSError:
            return b""
    assert wait_until("an answer", answer).startswith(b"HTTP/1.")
    for fd in range(3):
        assert os.readlink(f"/proc/{process.pid}/fd/{fd}") == "/dev/null"
    process.terminate()
    assert process.wait(20) == 0


@test
def silent_symbol_server():
    """A server of debug information that accepts and says nothing holds up neither page nor end."""
    where = folder()
    record(where, "cache 20")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        more = {"DEBUGINFOD_URLS": f"http://127.0.0.1:{silent.getsockname()[1]}/",
                "DEBUGINFOD_CACHE_PATH": folder(), "XDG_CACHE_HOME": folder()}
        with Server("--debuginfod", "--sysroot", folder(), where, more=more) as server:
            silent.settimeout(20)
            with silent.accept()[0]:  # now it waits
                begin = time.monotonic()
                assert server.api("download", "id=1&format=html")[0] == 200
                modules = server.json("process", "id=1")["modules"]
                assert "pending" in [m["symbols"] for m in modules], modules
                assert time.monotonic() - begin < 2
                status, seconds = server.stop()
                assert status == 0 and seconds < 5, (status, seconds)


# ---- hostile files -----------------------------------------------------------------------------

def ask_everything(server):
    for process in server.processes():
        id_ = f"id={process['id']}"
        names = [(n, id_) for n in ENDPOINTS]
        names += [("flame", f"{id_}&mode=between"), ("series", f"{id_}&metric=live-bytes&by=self"),
                  ("compare", f"{id_}&at=peak&id2={process['id']}&at2=end&metric=live-bytes")]
        names += [("download", f"{id_}&format={f}&mode={m}") for m in ("peak", "between")
                  for f in ("text", "json", "folded", "html", "pprof", "speedscope", "heaptrack", "binpb")]
        for name, query in names:
            status, given, body = server.api(name, query)
            assert status in (200, 404), (process["path"], name, query, status, body[:200])
            if given["content-type"] == "application/json":
                json.loads(body)


@test
def hostile_files():
    where, generator = folder(), random.Random(2)
    good = record(where, "cache 20", "window 3 w", "requests 7", "index 9")
    with open(good, "rb") as file:
        data = file.read()
    count = 0
    for path in glob.glob(os.path.join(HERE, "..", "golden", "*.binpb")):
        shutil.copy(path, os.path.join(where, f"memhawk_g{count}_1_protobuf.binpb"))
        count += 1
    for i in range(60):
        changed = bytearray(data[:generator.randrange(len(data))] if i % 3 == 0 else data)
        for _ in range(generator.choice((0, 1, 5, 50))):
            changed[generator.randrange(len(changed))] = generator.randrange(256) if changed else 0
        if i % 5 == 0:
            changed += bytes(generator.randrange(256) for _ in range(500))
        with open(os.path.join(where, f"memhawk_m{i}_1_protobuf.binpb"), "wb") as file:
            file.write(changed)
    for name, text in (("empty", b""), ("zeros", bytes(100000)), ("text", b"hello\n" * 1000)):
        with open(os.path.join(where, f"memhawk_{name}_1_protobuf.binpb"), "wb") as file:
            file.write(text)
    os.mkfifo(os.path.join(where, "memhawk_fifo_1_protobuf.binpb"))
    os.symlink("/dev/zero", os.path.join(where, "memhawk_zero_1_protobuf.binpb"))
    os.symlink(where, os.path.join(where, "memhawk_loop_1_protobuf.binpb"))
    with Server(where) as server:
        listing = wait_until("all files", lambda: (lambda a: a if len(a["processes"]) > 30 else None)(server.json("processes")))
        assert count >= 4 and listing["broken"], listing
        ask_everything(server)
        assert server.process.poll() is None
        os.truncate(good, len(data) // 2)  # shrinks under our eyes
        with open(os.path.join(where, "memhawk_m1_1_protobuf.binpb"), "wb") as file:
            file.write(b"replaced")
        time.sleep(1.5)
        ask_everything(server)


def main():
    parser = argparse.ArgumentParser()
    for name in ("memhawk", "library", "stepped"):
        parser.add_argument("--" + name, required=True, type=os.path.abspath)
    parser.add_argument("--sanitized", action="store_true", help="memory says nothing")
    parser.add_argument("tests", nargs="*")
    arguments = parser.parse_args()
    PATHS.update(memhawk=arguments.memhawk, library=arguments.library, stepped=arguments.stepped,
                 sanitized=arguments.sanitized)
    chosen = [t for t in TESTS if not arguments.tests or t.__name__ in arguments.tests]
    failed = 0
    print(f"1..{len(chosen)}", flush=True)
    with tempfile.TemporaryDirectory(prefix="memhawk-view-") as scratch:
        PATHS.update(scratch=os.path.realpath(scratch), cache=os.path.join(scratch, "cache"))
        for number, function in enumerate(chosen, 1):
            begin = time.monotonic()
            try:
                function()
                verdict = "ok"
            except Exception:  # pylint: disable=broad-except
                print("# " + traceback.format_exc().rstrip().replace("\n", "\n# "))
                verdict, failed = "not ok", failed + 1
                with open(os.path.join(scratch, "server.err"), errors="replace", encoding="utf-8") as log:
                    print("".join("# " + line for line in log.readlines()[-60:]), end="")
            print(f"{verdict} {number} - {function.__name__} ({time.monotonic() - begin:.1f} s)", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
