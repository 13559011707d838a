#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Seeds for fuzz_decode from the descriptions of the golden files: each once as a file (mode byte 1)
and once as bare messages (mode byte 0, see fuzz_decode.c)."""
import os
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import make_profile  # noqa: E402

GOLDEN = os.path.join(HERE, "..", "golden")
CORPUS = os.path.join(HERE, "corpus", "decode")


def messages(schema, path):
    with open(path) as description:
        for words, text in make_profile.blocks(description):
            if words[0] in ("Snapshot", "ProcessInfo"):
                yield make_profile.encode(schema, words[0], text)


def main():
    schemas = dict(make_profile.SCHEMAS, future=os.path.join(GOLDEN, "future.proto"))
    for name, schema in (("published", "published"), ("v1", "memhawk"), ("damaged", "memhawk"),
                         ("future", "future")):
        with open(os.path.join(GOLDEN, name + ".binpb"), "rb") as golden:
            file = b"\1" + golden.read()
        bare = b"\0" + b"".join(struct.pack(">H", len(m)) + m for m in
                                messages(schemas[schema], os.path.join(GOLDEN, name + ".txt")))
        for kind, data in (("file", file), ("messages", bare)):
            with open(os.path.join(CORPUS, "%s-%s" % (name, kind)), "wb") as seed:
                seed.write(data)


if __name__ == "__main__":
    main()
