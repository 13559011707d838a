#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the page of `memhawk view` with Vite and puts its four files where Meson wants them.

Usage: build_page.py SOURCE SCRATCH OUT DEPFILE

SOURCE is this folder, with node_modules (tools/bootstrap); nothing is written there. The server
embeds the four files by name, so one more or less is an error.
"""
import os
import shutil
import subprocess
import sys

FILES = ["app.css", "app.js", "icon.svg", "index.html"]
NOT_SOURCES = {"node_modules", "dist"}


def sources(folder):
    for parent, folders, names in os.walk(folder):
        folders[:] = [f for f in folders if f not in NOT_SOURCES and not f.startswith(".")]
        yield from (os.path.join(parent, name) for name in names if not name.endswith(".md"))


def build(source, scratch):
    vite = os.path.join(source, "node_modules", "vite", "bin", "vite.js")
    if not os.path.exists(vite):
        sys.exit(f"{vite} is missing: run tools/bootstrap")
    done = subprocess.run(["node", vite, "build", "--outDir", scratch, "--emptyOutDir",
                           "--logLevel", "warn"], cwd=source, stdin=subprocess.DEVNULL)
    if done.returncode:
        sys.exit(done.returncode)


def main():
    source, scratch, out, depfile = map(os.path.abspath, sys.argv[1:5])
    build(source, scratch)
    made = sorted(os.listdir(scratch))
    if made != FILES:
        sys.exit(f"the page is made of {', '.join(made)}; the server knows {', '.join(FILES)}")
    for name in FILES:
        shutil.copy(os.path.join(scratch, name), os.path.join(out, name))
    with open(depfile, "w", encoding="utf-8") as deps:
        first = os.path.relpath(os.path.join(out, "index.html"), os.getcwd())
        deps.write(f"{first}: {' '.join(f.replace(' ', chr(92) + ' ') for f in sources(source))}\n")


main()
