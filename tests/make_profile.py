#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a profile file from a text description, independently of MemHawk's own code: protoc turns
text into protobuf, the zstd command compresses, and the framing is done here.

  make_profile.py [--schema published|memhawk|FILE.proto] DESCRIPTION OUTPUT

The description is a sequence of blocks; each begins with a line of its own:

  === ProcessInfo             a message in protobuf text form, as one record
  === Snapshot
  === Snapshot cut 7          ... without its last 7 bytes
  === Snapshot flip 20        ... with the byte at 20 (of the whole record) inverted
  === Snapshot unchecked      ... in a zstd frame without checksum
  === Snapshot tail           ... with 4 bytes behind the frame, inside the record
  === raw                     bytes in hex, as they are, no framing
  === packed                  bytes in hex, compressed and framed
  === zeros 100000000         that many zero bytes, compressed and framed

Lines that begin with # are left out.
"""
import argparse
import os
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SCHEMAS = {
    "published": os.path.join(HERE, "golden", "published.proto"),
    "memhawk": os.path.join(HERE, "..", "src", "format", "memhawk.proto"),
}


def encode(schema, message, text):
    folder, name = os.path.split(os.path.abspath(schema))
    return subprocess.run(["protoc", "--encode=memhawk.proto." + message, "-I" + folder, name],
                          input=text.encode(), stdout=subprocess.PIPE, check=True).stdout


def compress(data, checked=True):
    flag = "--check" if checked else "--no-check"
    return subprocess.run(["zstd", "-q", "-c", flag], input=data, stdout=subprocess.PIPE,
                          check=True).stdout


def frame(payload):
    return struct.pack(">Q", len(payload)) + payload


def record(schema, words, text):
    kind, options = words[0], words[1:]
    if kind == "raw":
        return bytes.fromhex(text)
    if kind == "zeros":
        return frame(compress(bytes(int(options[0]))))
    if kind == "packed":
        return frame(compress(bytes.fromhex(text)))
    payload = compress(encode(schema, kind, text), "unchecked" not in options)
    if "tail" in options:
        payload += b"tail"
    data = bytearray(frame(payload))
    if "flip" in options:
        data[int(options[options.index("flip") + 1])] ^= 0xFF
    if "cut" in options:
        del data[-int(options[options.index("cut") + 1]):]
    return bytes(data)


def blocks(lines):
    words, text = None, []
    for line in lines:
        if line.startswith("==="):
            if words:
                yield words, "".join(text)
            words, text = line[3:].split(), []
        elif not line.startswith("#"):
            text.append(line)
    if words:
        yield words, "".join(text)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--schema", default="memhawk")
    parser.add_argument("description")
    parser.add_argument("output")
    args = parser.parse_args()
    schema = SCHEMAS.get(args.schema, args.schema)
    with open(args.description) as description:
        data = b"".join(record(schema, words, text) for words, text in blocks(description))
    with open(args.output, "wb") as output:
        output.write(data)


if __name__ == "__main__":
    sys.exit(main())
