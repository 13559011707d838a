# SPDX-License-Identifier: Apache-2.0
"""The expectations that stand in the source of each trap program, as lines `//! WORD ...`.

  //! run NAME ARGS...         a variant of the test; lines before the first one hold for all
  //! env NAME=VALUE           environment of the run
  //! status N | signal NAME   how the plain program ends (default: status 0)
  //! end REASON [N]           end of run in the profile (default: exit 0), or `any`
  //! files N                  profiles written (default 1; N+ is at least)
  //! total FIGURES            of the whole process
  //! site F FIGURES           stacks whose innermost frame in our programs is function F
  //! in F FIGURES             stacks that pass through F
  //! stack F<G<H FIGURES      stacks whose frames in our programs begin so, innermost first
  //! flag NAME F FIGURES      like `in`, but only stacks with that flag (depth_cut, ended_early,
                               by_fp, through_signal; broken: ended_early or by_fp)
  //! peak bytes=N             highest live bytes
  //! peak-site F FIGURES      like `site`, in the snapshot with the highest live bytes
  //! peak-time NS             within 100 ms
  //! loss NAME=N              (default: all are 0)
  //! module SUFFIX [deleted] [unloaded]
  //! warning TEXT             part of ProcessInfo.warning
  //! needs root | memory-gb N
  //! no-oracle                don't compare with the oracle (counts depend on scheduling)
  //! varying-output           stdout differs from run to run
  //! preload A,B,...          order of LD_PRELOAD; M is MemHawk, other words are files
  //! timeout SECONDS
  //! exe NAME                 another executable made of this source
  //! alias MODULE PROGRAM     a module whose symbols are read from that program's file instead
  //! killed                   the file may end inside a record
  //! unchecked                only that the program itself is as without us
  //! fixed-addresses          as under setarch -R
  //! no-overhead              the allocator is another: overhead figures don't hold

FIGURES are name=value pairs: count bytes live_count live_bytes temporary overhead; a value is N,
>=N, <=N or ~N (within 1 % or 1 MiB, whichever is larger). `@K` before the word chooses the
K-th profile by start time (default 0). A program may print further directives on stdout.
"""
import collections
import os
import re
import shlex

import harness
import profile_file
from harness import Config, Failure, Skip

Variant = collections.namedtuple("Variant", "name arguments lines")
FLAGS = {"depth_cut": profile_file.DEPTH_CUT, "ended_early": profile_file.ENDED_EARLY,
         "by_fp": profile_file.BY_FP, "through_signal": profile_file.THROUGH_SIGNAL,
         "broken": profile_file.ENDED_EARLY | profile_file.BY_FP}


def parse(path):
    common, variants = [], []
    for line in open(path, encoding="utf-8"):
        match = re.match(r"\s*(?:\*|//|#)?\s*//!\s*(.+)", line)
        if not match:
            continue
        words = shlex.split(match.group(1))
        if words[0] == "run":
            variants.append(Variant(words[1], words[2:], []))
        else:
            (variants[-1].lines if variants else common).append(words)
    if not variants:
        variants = [Variant("", [], [])]
    return [Variant(v.name, v.arguments, common + v.lines) for v in variants]


def number_fits(spec, value):
    match = re.fullmatch(r"(>=|<=|~)?(-?\d+)", spec)
    if not match:
        raise Failure("directive: bad number %r" % spec)
    kind, want = match.group(1), int(match.group(2))
    if kind == ">=":
        return value >= want
    if kind == "<=":
        return value <= want
    if kind == "~":
        return abs(value - want) <= max(want / 100, 1 << 20)
    return value == want


def figures_fit(words, summary, what):
    ret = []
    for word in words:
        name, spec = word.split("=", 1)
        value = getattr(summary, name)
        if not number_fits(spec, value):
            ret.append("%s: %s is %d, expected %s" % (what, name, value, spec))
    return ret


def add(summaries):
    return profile_file.Summary(*map(sum, zip(profile_file.ZERO, *summaries)))


class Check:
    """One profile against its directives."""

    def __init__(self, profile, roots):
        self.profile, self.roots = profile, roots

    def own_frames(self, stack):
        return [name for module, name in self.profile.names(stack)
                if module.startswith(self.roots)
                or profile_file.bare_name(module) in profile_file.aliases]

    def select(self, state, keep):
        return add([state[s] for s in state if keep(s)])

    def function(self, name):
        return lambda frame: frame == name or frame.startswith(name + ".")

    def site(self, name, state):
        same = self.function(name)
        return self.select(state, lambda s: any(map(same, self.own_frames(s)[:1])))

    def within(self, name, state, flag=0):
        same = self.function(name)
        return self.select(state, lambda s: (not flag or self.profile.flags[s] & flag)
                           and any(map(same, self.own_frames(s))))

    def chain(self, names, state):
        want = [self.function(n) for n in names]

        def keep(stack):
            have = self.own_frames(stack)
            return len(have) >= len(want) and all(w(h) for w, h in zip(want, have))
        return self.select(state, keep)

    def peak_state(self):
        return self.profile.state_at(self.profile.peak_index())

    def line(self, words):
        profile, word, rest = self.profile, words[0], words[1:]
        state = profile.state
        if word == "total":
            return figures_fit(rest, profile.total, "total")
        if word == "inherited":
            return figures_fit(rest, profile.inherited, "inherited")
        if word == "site":
            return figures_fit(rest[1:], self.site(rest[0], state), "site " + rest[0])
        if word == "in":
            return figures_fit(rest[1:], self.within(rest[0], state), "in " + rest[0])
        if word == "flag":
            found = self.within(rest[1], state, FLAGS[rest[0]])
            return figures_fit(rest[2:], found, "flag %s %s" % (rest[0], rest[1]))
        if word == "stack":
            found = self.chain(rest[0].split("<"), state)
            return figures_fit(rest[1:], found, "stack " + rest[0])
        if word == "peak-site":
            return figures_fit(rest[1:], self.site(rest[0], self.peak_state()),
                               "at peak, site " + rest[0])
        if word == "peak":
            spec = rest[0].split("=", 1)[1]
            at = profile.snapshots[profile.peak_index()].total.live_bytes
            return ["%s is %d, expected %s" % (n, v, spec)
                    for n, v in (("peakBytes", profile.peak_bytes), ("highest snapshot", at))
                    if not number_fits(spec, v)]
        if word == "peak-time":
            off = (profile.peak_time - int(rest[0])) / 1e6
            return ["peak time is off by %.1f ms" % off] if abs(off) > 100 else []
        if word == "module":
            return self.module(rest)
        if word == "warning":
            text = " ".join(rest)
            return [] if text in profile.warning else ["warning %r lacks %r"
                                                       % (profile.warning, text)]
        raise Failure("directive: unknown word %r" % word)

    def module(self, words):
        found = [m for m in self.profile.modules.values() if m.path.endswith(words[0])]
        if "times" in words:
            want = int(words[words.index("times") + 1])
            if len({m.id for m in found}) != want:
                return ["module %s: %d of them, expected %d" % (words[0], len(found), want)]
        if not found:
            return ["no module %s" % words[0]]
        if "deleted" in words and not any(m.deleted for m in found):
            return ["module %s is not marked deleted" % words[0]]
        if "unloaded" in words and not any(m.unload for m in found):
            return ["module %s has no unload time" % words[0]]
        return []

    def losses(self, allowed):
        ret = []
        for name, value in self.profile.losses.items():
            if not number_fits(allowed.get(name, "0"), value):
                ret.append("loss %s is %d, expected %s" % (name, value, allowed.get(name, "0")))
        return ret


class Settings:
    def __init__(self, lines):
        self.env, self.losses, self.ends, self.checks = {}, {}, {}, []
        self.status, self.files, self.oracle, self.varying = 0, "1", True, False
        self.preload, self.timeout, self.killed, self.needs = None, 60, False, []
        self.exe, self.aliases, self.overhead, self.checked = None, [], True, True
        self.fixed = False
        for words in lines:
            self.line(words)

    def line(self, words):
        index = 0
        if words[0].startswith("@"):
            index, words = int(words[0][1:]), words[1:]
        word, rest = words[0], words[1:]
        if word == "env":
            self.env.update(w.split("=", 1) for w in rest)
        elif word == "status":
            self.status = int(rest[0])
        elif word == "signal":
            import signal
            self.status = -getattr(signal, rest[0])
        elif word == "end":
            self.ends[index] = rest
        elif word == "files":
            self.files = rest[0]
        elif word == "no-oracle":
            self.oracle = False
        elif word == "varying-output":
            self.varying = True
        elif word == "preload":
            self.preload = rest[0].split(",")
        elif word == "timeout":
            self.timeout = int(rest[0])
        elif word == "loss":
            self.losses.setdefault(index, {}).update(w.split("=", 1) for w in rest)
        elif word == "killed":
            self.killed = True
        elif word == "fixed-addresses":
            self.fixed = True
        elif word == "unchecked":
            self.checked = False
        elif word == "no-overhead":
            self.overhead = False
        elif word == "exe":
            self.exe = rest[0]
        elif word == "alias":
            self.aliases.append(rest)
        elif word == "needs":
            self.needs.append(rest)
        else:
            self.checks.append((index, words))


def check_needs(needs):
    for what, *rest in needs:
        if what == "root" and os.geteuid() != 0:
            raise Skip("needs root")
        if what == "memory-gb":
            total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 30
            if total < int(rest[0]):
                raise Skip("needs %s GB of memory" % rest[0])
        if what == "file" and not os.path.exists(rest[0]):
            raise Skip("needs " + rest[0])


def dynamic(run, settings):
    """Takes the directives that the program printed out of its output."""
    lines = run.stdout.split("\n")
    for line in lines:
        if line.startswith("//! "):
            settings.line(shlex.split(line[4:]))
    return run._replace(stdout="\n".join(l for l in lines if not l.startswith("//! ")))


def check_profiles(run, settings, roots):
    ret = []
    least = settings.files.endswith("+")
    want = int(settings.files.rstrip("+"))
    if len(run.profiles) < want or (not least and len(run.profiles) != want):
        ret.append("%d profiles (%s), expected %s" % (
            len(run.profiles), ", ".join(os.path.basename(p.path) for p in run.profiles)[:300],
            settings.files))
    for index, profile in enumerate(run.profiles):
        ret += harness.consistent(profile, settings.killed)
        check = Check(profile, roots)
        if index in settings.losses or index == 0:
            ret += check.losses(settings.losses.get(index, {}))
        if index in settings.ends or index == 0:
            end = settings.ends.get(index, ["exit", "0"])
            have = [profile.end or "unknown", str(profile.status)]
            if end != ["any"] and have[:len(end)] != end:
                ret.append("@%d end of run is %s, expected %s" % (index, have, end))
        for which, words in settings.checks:
            if which == index:
                if not settings.overhead:
                    words = [w for w in words if not w.startswith("overhead=")]
                ret += ["@%d %s" % (index, text) for text in check.line(words)]
    missing = {i for i, _ in settings.checks if i >= len(run.profiles)}
    return ret + ["no profile @%d to check" % i for i in sorted(missing)]


def oracle_on_trial(run, settings):
    """The hand-computed totals of a lone process hold for the oracle too."""
    if len(run.oracles) != 1:
        return []
    return [text for which, words in settings.checks if which == 0 and words[0] == "total"
            for text in figures_fit([w for w in words[1:] if not w.startswith("overhead=")],
                                    run.oracles[0], "the oracle's total")]


def set_aliases(settings):
    for module, program in settings.aliases:
        profile_file.aliases[module] = os.path.join(Config.programs, program)


def preload_of(bench, order, mode):
    top = {"plain": None, "oracle": bench.oracle_lib, "memhawk": bench.lib}[mode]
    if order is None:
        return top or ""
    paths = [top if w == "M" else w.replace("PROGRAMS", Config.programs) for w in order]
    return ":".join(p for p in paths if p)


def run_variant(source, variant):
    """The whole test of one program variant; returns complaints."""
    settings = Settings(variant.lines)
    check_needs(settings.needs)
    stem = os.path.splitext(os.path.basename(source))[0]
    executable = os.path.join(Config.programs, settings.exe or stem)
    if not os.path.exists(executable):
        raise Skip("%s was not built" % executable)
    bench = harness.Bench(stem + (":" + variant.name if variant.name else ""), settings.timeout)
    try:
        bench.fixed_addresses = settings.fixed
        bench.extra_env = {"PROGRAMS": Config.programs}
        bench.extra_env.update((k, v.replace("PROGRAMS", Config.programs))
                               for k, v in settings.env.items())
        argv = [executable] + variant.arguments

        def run(mode):
            return bench.run(argv, mode, preload_of(bench, settings.preload, mode))
        plain = run("plain")
        if plain.status == 77:
            raise Skip(plain.stdout.strip() or "the program says so")
        if plain.status != settings.status:
            return ["plain run ends with %d, expected %d: %s" % (
                plain.status, settings.status, harness.clip(plain.stderr))]
        plain = dynamic(plain, Settings([]))
        ret, theirs = [], None
        if settings.oracle and Config.oracle:
            theirs = run("oracle")
            ret += oracle_on_trial(theirs, settings)
        if not Config.lib:
            return ret
        ours = dynamic(run("memhawk"), settings)
        set_aliases(settings)
        if settings.varying:
            plain = plain._replace(stdout=ours.stdout)
        ret += harness.same_output(plain, ours)
        if not settings.checked:
            return ret
        ret += check_profiles(ours, settings, (Config.programs, bench.base))
        if theirs:
            ret += harness.agrees_with_oracle(ours, theirs)
        return ret
    finally:
        bench.close()
