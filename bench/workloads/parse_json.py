# SPDX-License-Identifier: Apache-2.0
"""Builds, writes and parses JSON of nested lists and objects; run with PYTHONMALLOC=malloc."""
import json

ROUNDS = 3
ROWS = 60000


def build():
    return [{"id": i, "name": f"row {i}", "tags": [str(i % 7), str(i % 11), "x" * (i % 40)],
             "position": {"x": i * 0.5, "y": -i * 0.25}, "ok": i % 3 == 0} for i in range(ROWS)]


def main():
    total = 0
    for _ in range(ROUNDS):
        text = json.dumps(build())
        total += len(text) + sum(len(row["tags"]) for row in json.loads(text))
    print(total)


main()
