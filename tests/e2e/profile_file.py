# SPDX-License-Identifier: Apache-2.0
"""Reads a profile file by the field table alone: the tests' own decoder, sharing no code with
src/format or src/profile. Standard library only; zstd through ctypes.

A Profile replays the records: totals, the state of every stack after each snapshot, modules,
frames. Figures in Profile.total come from Snapshot.total, those of stacks from the changed rows.
"""
import bisect
import collections
import ctypes
import functools
import os
import struct
import subprocess

_zstd = ctypes.CDLL("libzstd.so.1")
for _name in ("ZSTD_decompress", "ZSTD_isError"):
    getattr(_zstd, _name).restype = ctypes.c_size_t
_zstd.ZSTD_getFrameContentSize.restype = ctypes.c_ulonglong
_zstd.ZSTD_decompress.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p,
                                  ctypes.c_size_t]
_zstd.ZSTD_isError.argtypes = [ctypes.c_size_t]
_zstd.ZSTD_getFrameContentSize.argtypes = [ctypes.c_void_p, ctypes.c_size_t]

REASONS = {0: "unknown", 1: "exit", 2: "_exit", 3: "quick_exit", 4: "exec", 5: "signal",
           6: "abort"}
DEPTH_CUT, ENDED_EARLY, BY_FP, THROUGH_SIGNAL, LOST = 1, 2, 4, 8, 16


class BadFile(Exception):
    pass


def decompress(data):
    size = _zstd.ZSTD_getFrameContentSize(data, len(data))
    if size > 1 << 62:
        size = max(1 << 16, 20 * len(data))
    while size <= 1 << 30:
        out = ctypes.create_string_buffer(max(1, size))
        got = _zstd.ZSTD_decompress(out, size, data, len(data))
        if not _zstd.ZSTD_isError(got):
            return out.raw[:got]
        size *= 4
    raise BadFile("not a zstd frame")


def fields(data):
    """A protobuf message as {field number: [values]}; bytes for length-delimited ones."""
    ret = collections.defaultdict(list)
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        kind = key & 7
        if kind == 0:
            value = varint()
        elif kind == 2:
            size = varint()
            value = data[at:at + size]
            at += size
        elif kind == 1:
            value = struct.unpack_from("<Q", data, at)[0]
            at += 8
        elif kind == 5:
            value = struct.unpack_from("<I", data, at)[0]
            at += 4
        else:
            raise BadFile("wire type %d" % kind)
        ret[key >> 3].append(value)
    return ret


def packed(values):
    for value in values:
        if isinstance(value, int):
            yield value
            continue
        number = shift = 0
        for byte in value:
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                yield number
                number = shift = 0


def one(message, number, default=0):
    return message[number][-1] if number in message else default


def signed(value):
    return value - (1 << 64) if value >> 63 else value


class Summary(collections.namedtuple("Summary", "live_bytes live_count overhead count bytes "
                                                "temporary")):
    @staticmethod
    def read(data):
        m = fields(data)
        return Summary(signed(one(m, 1)), signed(one(m, 2)), signed(one(m, 3)), one(m, 4),
                       one(m, 5), one(m, 100))


ZERO = Summary(0, 0, 0, 0, 0, 0)
Module = collections.namedtuple("Module", "path bias segments id build_id load unload deleted")


class Frame(collections.namedtuple("Frame", "address module exact")):
    @property
    def code(self):
        return self.address if self.exact else self.address - 1


class Snapshot:
    def __init__(self, m):
        self.time = one(m, 1)
        self.kind = one(m, 100)
        self.rss = one(m, 101)
        self.own_bytes = one(m, 106)
        self.threads = one(m, 107)
        self.total = None
        self.changed = []


LOSS_NAMES = ["stack_table_full", "live_map_full", "missed_frees", "write_failed",
              "reentrant_skipped", "depth_cut", "unwind_ended", "windows_dropped"]


class Profile:
    def __init__(self, path):
        self.path = path
        self.modules, self.frames, self.stacks, self.flags = {}, {}, {}, {}
        self.snapshots, self.state = [], {}
        self.total, self.inherited = ZERO, ZERO
        self.peak_bytes = self.peak_time = 0
        self.losses = dict.fromkeys(LOSS_NAMES, 0)
        self.end, self.status = None, None
        self.cut = False
        data = open(path, "rb").read()
        records = list(self._records(data))
        if not records:
            raise BadFile("%s: no whole record" % path)
        self._process(fields(records[0]))
        for record in records[1:]:
            self._snapshot(fields(record))

    def _records(self, data):
        at = 0
        while at < len(data):
            if len(data) - at < 8:
                self.cut = True
                return
            size = struct.unpack_from(">Q", data, at)[0]
            if at + 8 + size > len(data):
                self.cut = True
                return
            yield decompress(data[at + 8:at + 8 + size])
            at += 8 + size

    def _process(self, m):
        text = lambda n: one(m, n, b"").decode("utf-8", "replace")
        self.name, self.full_path = text(1), text(2)
        self.pid, self.start = one(m, 3), one(m, 4)
        self.version, self.parent = one(m, 100), one(m, 103)
        self.arguments = [a.decode("utf-8", "replace") for a in m[102]]
        self.forked = bool(one(m, 108))
        self.allocator, self.warning = text(109), text(110)
        self.max_depth, self.unwind_mode = one(m, 107), text(106)

    def _snapshot(self, m):
        snapshot = Snapshot(m)
        if self.snapshots and snapshot.time < self.snapshots[-1].time:
            raise BadFile("time runs backwards")
        for data in m[5]:
            e = fields(data)
            module = Module(one(e, 1, b"").decode("utf-8", "replace"), one(e, 2),
                            [(one(s, 1), one(s, 2)) for s in map(fields, e[3])], one(e, 100),
                            one(e, 101, b""), one(e, 102), one(e, 103), bool(one(e, 106)))
            self.modules[module.id or len(self.modules) + 1] = module
        for data in m[3]:
            p = fields(data)
            self.frames[one(p, 1)] = Frame(one(p, 2), one(p, 100), bool(one(p, 101)))
        for data in m[4]:
            s = fields(data)
            if one(s, 1) in self.stacks:
                raise BadFile("stack %d defined twice" % one(s, 1))
            self.stacks[one(s, 1)] = tuple(packed(s[2]))
            missing = [p for p in self.stacks[one(s, 1)] if p not in self.frames]
            if missing:
                raise BadFile("stack %d (flags %d) uses frame %d, which is not defined"
                              % (one(s, 1), one(s, 100), missing[0]))
            self.flags[one(s, 1)] = one(s, 100)
        for data in m[2]:
            t = fields(data)
            if one(t, 1) not in self.stacks:
                raise BadFile("stack %d used before it is defined" % one(t, 1))
            summary = Summary.read(one(t, 2, b""))
            self.state[one(t, 1)] = summary
            snapshot.changed.append((one(t, 1), summary))
        if 7 in m:
            self.total = snapshot.total = Summary.read(one(m, 7))
        if 112 in m:
            self.inherited = Summary.read(one(m, 112))
        if one(m, 102) >= self.peak_bytes:
            self.peak_bytes = one(m, 102)
            self.peak_time = one(m, 103) or self.peak_time
        if 104 in m:
            losses = fields(one(m, 104))
            self.losses = {name: one(losses, i + 1) for i, name in enumerate(LOSS_NAMES)}
        if 105 in m:
            end = fields(one(m, 105))
            self.end, self.status = REASONS[one(end, 1)], signed(one(end, 2))
        self.snapshots.append(snapshot)

    # ---- questions

    def state_at(self, index):
        """{stack id: Summary} after the snapshot with that index."""
        ret = {}
        for snapshot in self.snapshots[:index + 1]:
            ret.update(snapshot.changed)
        return ret

    def peak_index(self):
        best = max(range(len(self.snapshots)), default=None,
                   key=lambda i: self.snapshots[i].total.live_bytes if self.snapshots[i].total
                   else 0)
        return best

    def module_of(self, frame):
        if frame.module:
            return self.modules.get(frame.module)
        for module in self.modules.values():
            if any(a <= frame.code - module.bias < a + s for a, s in module.segments):
                return module
        return None

    @functools.lru_cache(maxsize=None)
    def _name(self, frame):
        module = self.module_of(frame)
        return symbol(module.path, frame.code - module.bias) if module else "?"

    @functools.lru_cache(maxsize=None)
    def names(self, stack):
        """[(module path or '?', function or '?')], leaf first."""
        ret = []
        for pointer in self.stacks[stack]:
            frame = self.frames[pointer]
            module = self.module_of(frame)
            ret.append((module.path if module else "?", self._name(frame)))
        return tuple(ret)


@functools.lru_cache(maxsize=64)
def symbols(path):
    """Sorted addresses and names by nm; dynamic ones when there are no others."""
    for options in (["-nC"], ["-nCD"]):
        out = subprocess.run(["nm", "--defined-only"] + options + [path], text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        found = [line.split(" ", 2) for line in out.splitlines()]
        found = [(int(f[0], 16), f[2].split("(")[0]) for f in found
                 if len(f) == 3 and f[1] in "tTwWiu"]
        if found:
            return [f[0] for f in found], [f[1] for f in found]
    return [], []


# Where a test moves, deletes or strips a module's file, it tells where its symbols are.
aliases = {}


def bare_name(path):
    return os.path.basename(path.replace(" (deleted)", "")).replace("memfd:", "")


def symbol(path, address):
    starts, names = symbols(aliases.get(bare_name(path), path))
    at = bisect.bisect_right(starts, address) - 1
    return names[at].split("@")[0] if at >= 0 else "?"
