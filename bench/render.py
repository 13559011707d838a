# SPDX-License-Identifier: Apache-2.0
"""Turns bench/out/*.json into Markdown: one table of ratios, one of probes, one of instructions."""
import glob
import json
import os
import re
import statistics

from sampling import OUT, VARIANTS, ratio, spread

INTRODUCTION = """\
# Results

Written by `bench/run --markdown` from the samples of `bench/run` and `bench/callgrind`; do not edit.

Every ratio is to plain malloc in the same loop of alternating runs, file writing included, interval
1 s. *plain again* is a second plain run in each round: what it differs from 1.00 by, and what is
below it, is noise. Medians, in brackets the ratio of the best runs.
"""


def load():
    results = {}
    for path in sorted(glob.glob(os.path.join(OUT, "*.json"))):
        with open(path, encoding="utf-8") as source:
            data = json.load(source)
        results[data["name"]] = data
    return results


def order(results, kind):
    from workloads import WORKLOADS
    known = [w.name for w in WORKLOADS]
    rows = [r for r in results.values() if r["kind"] == kind]
    return sorted(rows, key=lambda r: known.index(r["name"]) if r["name"] in known else 99)


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def cell(data, name):
    samples = data["samples"]
    middle = ratio(samples, name)
    if middle is None:
        return "–"
    best = ratio(samples, name, max if data["higher_is_better"] else min)
    digits = 1 if middle >= 10 else 2
    return f"{middle:.{digits}f} ({best:.{digits}f})"


def verdict(data):
    """Bar and whether it holds; start-up is held to a difference, not to a ratio."""
    bar, samples = data["bar"], data["samples"]
    if bar is None or not samples.get("memhawk"):
        return "–"
    if data["unit"] == "ms":
        cost = statistics.median(samples["memhawk"]) - statistics.median(samples["plain"])
        return f"{'met' if cost <= bar else 'MISSED'}: {cost:.2f} ms of {bar} ms"
    middle = ratio(samples, "memhawk")
    met = middle >= bar if data["higher_is_better"] else middle <= bar
    return f"{bar:.2f} {'met' if met else 'MISSED'}"


def workload_table(results):
    rows, names = order(results, "workload"), list(VARIANTS)
    names = [n for n in names if n != "plain" and any(n in r["samples"] for r in rows)]
    out = []
    for data in rows:
        plain = data["samples"]["plain"]
        noise = spread(plain)
        out.append([data["title"], f"{statistics.median(plain):.3g} {data['unit']}",
                    "–" if noise is None else f"{noise * 100:.1f} %",
                    str(len(data["samples"].get("memhawk", plain)))]
                   + [cell(data, name) for name in names] + [verdict(data)])
    head = ["workload", "plain", "quartile spread of plain", "runs"] \
        + [VARIANTS[name].title for name in names] + ["bar for MemHawk"]
    return table(head, out) if out else ""


def number(value):
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def probe_tables(results):
    parts = []
    titles = {"memory": "Memory of the recorder", "file-size": "File size",
              "report": "Time of `memhawk report`",
              "scaling": "Threads (ratio to plain, the same work)", "callgrind": "Instructions",
              "page": "The live page, in Chromium"}
    for data in order(results, "probe"):
        parts.append(f"## {titles.get(data['name'], data['name'])}\n")
        if data.get("note"):
            parts.append(data["note"] + "\n")
        rows = [[row["what"], f"{number(row['figure'])} {row['unit']}",
                 "–" if row["bar"] is None else
                 f"{number(row['bar'])} {'met' if row['figure'] <= row['bar'] else 'MISSED'}"]
                for row in data["rows"]]
        parts.append(table(["what", "measured", "bar"], rows))
    return "\n".join(parts)


FIGURES = re.compile(r"(<!-- figures: begin -->\n).*?(\n<!-- figures: end -->)", re.S)


def short_table(results):
    """For the README: MemHawk and heaptrack, medians."""
    rows = []
    for data in order(results, "workload"):
        if data["unit"] == "s":
            cells = [ratio(data["samples"], name)
                     for name in ("memhawk", "heaptrack-preload", "heaptrack")]
            rows.append([data["title"]]
                        + ["–" if c is None else f"{c:.2f}" if c < 10 else f"{c:.0f}" for c in cells])
    head = ["workload", "MemHawk", "heaptrack's preload alone", "heaptrack"]
    return table(head, rows) + "\n" + machines(results)


def update_readme(path):
    """Puts the short table between the README's marks; False when it has none."""
    with open(path, encoding="utf-8") as source:
        text = source.read()
    body = short_table(load()).rstrip()
    text, count = FIGURES.subn(lambda match: match.group(1) + body + match.group(2), text)
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)
    return count == 1


def machines(results):
    lines = []
    for data in results.values():
        m = data["machine"]
        line = (f"{m['cpus']} × {m['cpu']}, Linux {m['kernel']}, {m['libc']}, MemHawk at "
                f"{m['revision']}, {m['date']}")
        if line not in lines:
            lines.append(line)
    return "Measured on: " + "; ".join(lines) + ".\n"


def document():
    results = load()
    if not results:
        return INTRODUCTION + "\nNothing measured yet.\n"
    return "\n".join([INTRODUCTION, machines(results), "## Time\n", workload_table(results),
                      probe_tables(results)]).rstrip() + "\n"
