# SPDX-License-Identifier: Apache-2.0
"""What bench/run and bench/callgrind share: the machine's description and the files in bench/out."""
import datetime
import json
import os
import platform
import subprocess

from sampling import OUT, ROOT


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        models = [line.split(":", 1)[1].strip() for line in info if line.startswith("model name")]
    revision = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"],
                              capture_output=True, text=True, check=False).stdout.strip()
    return {"cpu": models[0] if models else "unknown", "cpus": os.cpu_count(),
            "kernel": platform.release(), "libc": " ".join(platform.libc_ver()),
            "load": os.getloadavg()[0], "revision": revision,
            "date": datetime.date.today().isoformat()}


def save(name, data):
    os.makedirs(OUT, exist_ok=True)
    with open(os.path.join(OUT, name + ".json"), "w", encoding="utf-8") as out:
        json.dump({"name": name, "machine": machine(), **data}, out, indent=1)
