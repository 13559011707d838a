# SPDX-License-Identifier: Apache-2.0
"""Measurement windows from Python, by ctypes: copy this file beside your benchmark.

    with memhawk.window("parse") as w:
        parse()
    print(w.counts)          # None without the profiler

Run with PYTHONMALLOC=malloc, else Python's own allocator hides its small objects from malloc:

    PYTHONMALLOC=malloc memhawk run -- python3 examples/windows/python/bench.py
"""
import ctypes

THREAD, PROCESS = 0, 1


class Counts(ctypes.Structure):
    """struct memhawk_counts of memhawk.h; sizes in bytes."""
    _fields_ = [(name, ctypes.c_uint64) for name in
                ("allocations", "bytes", "frees", "freed_bytes", "temporary", "peak_bytes",
                 "duration_ns", "reserved")]

    def __repr__(self):
        return ", ".join(f"{name}={getattr(self, name)}" for name, _ in self._fields_[:-1])


def _find(name, result, *arguments):
    try:
        function = getattr(_library, "memhawk_v1_" + name)
    except AttributeError:
        return None
    function.restype, function.argtypes = result, arguments
    return function


# PyDLL keeps the interpreter lock: no other thread of Python's runs inside begin and end, and nothing
# is allocated to give the lock away.
_library = ctypes.PyDLL(None)
_begin = _find("window_begin", ctypes.c_uint64, ctypes.c_char_p, ctypes.c_int)
_end = _find("window_end", ctypes.c_int, ctypes.c_uint64)
_stats = _find("window_stats", ctypes.c_int, ctypes.POINTER(Counts))
_mark = _find("mark", ctypes.c_int, ctypes.c_char_p)
_active = _find("active", ctypes.c_int)


def active():
    """Whether the profiler records this process."""
    return _active is not None and _active() == 1


def mark(text):
    if _mark is not None:
        _mark(text.encode())


class window:
    """A window for a with block. ctypes itself allocates a little between begin and the block and
    between the block and end: `baseline()` says how much, the report shows its stacks apart."""

    def __init__(self, name, scope=THREAD):
        self.name, self.scope, self.counts = name.encode(), scope, None

    def __enter__(self):
        self.handle = _begin(self.name, self.scope) if _begin else 0
        return self

    def __exit__(self, *error):
        if not self.handle:
            return
        _end(self.handle)
        counts = Counts()
        if _stats(ctypes.byref(counts)) == 0:
            self.counts = counts


def baseline():
    """The counts of an empty block, to be subtracted."""
    for _ in range(3):  # caches of the interpreter fill at first
        with window("memhawk.baseline") as empty:
            pass
    return empty.counts
