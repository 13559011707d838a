# SPDX-License-Identifier: Apache-2.0
"""Allocations of two ways to build a list of 1000 small objects."""
import memhawk


class Point:
    __slots__ = ("x", "y")

    def __init__(self, x):
        self.x, self.y = x, x


def points():
    return [Point(i) for i in range(1000)]


def numbers():
    return list(range(1000))


empty = memhawk.baseline()
for function in (points, numbers):
    for _ in range(20):
        with memhawk.window(function.__name__) as w:
            function()
    if w.counts is None:
        print(function.__name__, "not measured")
    else:
        print(function.__name__, w.counts.allocations - empty.allocations, "allocations,",
              w.counts.bytes - empty.bytes, "bytes")
