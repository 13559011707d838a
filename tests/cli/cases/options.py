# SPDX-License-Identifier: Apache-2.0
"""--help, manual pages and completion name the same verbs and options; the pages have no warnings,
and the variables that the recorder reads are in memhawk(1)."""
import os
import re
import subprocess

ROOT = os.environ["SOURCE_ROOT"]
MAN = os.path.join(ROOT, "docs", "man")


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def helped(text):
    """Options of a help text, short and long."""
    found = set()
    for line in text.splitlines():
        head = re.match(r"\s+(-\w, )?(--[\w-]+|-\w)", line)
        if head:
            found.update(re.findall(r"(?<![\w-])--?\w[\w-]*", head.group(0)))
    return found


def manned(page):
    """Options that the page describes, one `.It Fl` each."""
    with open(os.path.join(MAN, page), encoding="utf-8") as source:
        lines = [line for line in source if line.startswith(".It Fl")]
    found = set()
    for line in lines:
        found.update("--" + name for name in re.findall(r"Fl Fl ([\w-]+)", line))
        found.update("-" + name for name in re.findall(r"Fl (?!Fl)(\w)\b", line))
    return found


def completed(words):
    """What the completion offers for the command line WORDS with the cursor at its end."""
    script = ('. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
              'compopt() { :; }; _memhawk; printf "%s\\n" "${COMPREPLY[@]}"')
    return set(output("bash", "-c", script, "bash",
                      os.path.join(ROOT, "tools", "completion", "memhawk.bash"),
                      "memhawk", *words).split())


def compare(what, given, helped_options):
    for word in sorted(helped_options - given):
        print(f"{what}: {word} is missing")
    for word in sorted(given - helped_options):
        print(f"{what}: {word} is not in --help")


def main():
    overview = output("memhawk", "--help")
    verbs = re.findall(r"^  ([a-z]+)  ", overview, re.M)
    print("verbs:", *verbs)
    compare("memhawk(1)", manned("memhawk.1"), helped(overview))
    compare("completion", completed([""]) - set(verbs), helped(overview))
    assert set(verbs) <= completed([""])
    for verb in verbs:
        options = helped(output("memhawk", verb, "--help"))
        if verb == "help":
            options -= {"-V", "--version"}  # the overview's
        print(verb, len(options), "options")
        compare(f"memhawk-{verb}(1)", manned(f"memhawk-{verb}.1"), options)
        compare(f"completion of {verb}", completed([verb, "-"]) - {"--"}, options)
    pages = sorted(os.listdir(MAN))
    wanted = {"memhawk.1", *(f"memhawk-{verb}.1" for verb in verbs)}
    compare("docs/man", {p for p in pages if p.endswith(".1")}, wanted)
    for page in sorted(wanted):
        path = os.path.join(MAN, page)
        lint = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", path],
                              stdout=subprocess.PIPE, text=True, check=False).stdout
        print(lint.replace(MAN + "/", ""), end="")
        wide = [line for line in output("mandoc", "-T", "utf8", "-O", "width=78", path).splitlines()
                if len(re.sub(".\b", "", line)) > 80]
        print(*wide, sep="\n", end="\n" if wide else "")
    print("values:", *sorted(completed(["report", "--format", ""])), "/",
          *sorted(completed(["report", "--metric", ""])), "/",
          *sorted(completed(["run", "--follow", ""])), "/",
          *sorted(completed(["run", "--unwind", ""])))
    print("behind a sign:", *completed(["report", "--format", "=", "sp"]), "/",
          *sorted(completed(["report", "--metric", "="])), "/", *completed(["run", "--unwind", "=", "c"]), "/",
          *completed(["report", "--top", "=", "3", "--gran"]))
    with open("x.binpb", "w", encoding="utf-8"), open("x.txt", "w", encoding="utf-8"):
        print("profiles:", *completed(["report", "--top", "3", "x"]))
    print("programs:", "sleep" in completed(["run", "-i", "5", "--", "slee"]),
          "sleep" in completed(["run", "slee"]), "--quiet" in completed(["run", "ls", "--q"]))


main()
