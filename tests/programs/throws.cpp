// SPDX-License-Identifier: Apache-2.0
/*
 * 100,000 C++ exceptions. Each is one block of 128 bytes of header and the int,
 * made in thrower and freed by the catch with nothing allocated in between.
 * Destructors run on the way.
 *
 *   //! in thrower count=100000 bytes=13200000 live_count=0 temporary=100000
 *   //! in guarded count=300000 live_count=0
 */
#include <stdexcept>

#include "trap.h"

struct Block {
    void *pointer = malloc(32);
    ~Block()
    {
        free(pointer);
    }
};

SITE static void thrower(int i)
{
    throw i;
}

SITE static int guarded(int i)
{
    Block first;
    Block second;

    keep(first.pointer);
    thrower(i);
    return 0;
}

int main()
{
    long sum = 0;

    for (int i = 0; i < 100000; i++) {
        try {
            sum += guarded(i);
        } catch (int value) {
            sum += value;
        }
    }
    CHECK(sum == 4999950000);
    return 0;
}
