// SPDX-License-Identifier: Apache-2.0
// C++ exceptions with probes in destructors and handlers.
#include "walk_probe.h"

namespace
{
struct Guard {
    ~Guard()
    {
        probe();
    }
};

__attribute__((noinline)) void thrower(int depth)
{
    Guard guard;
    if (depth == 0)
        throw 7;
    thrower(depth - 1);
}
} // namespace

extern "C" int walk_throw(int rounds)
{
    int caught = 0;
    for (int i = 0; i < rounds; i++) {
        try {
            thrower(i % 8);
        } catch (int value) {
            probe();
            caught += value == 7;
        }
    }
    return caught;
}
