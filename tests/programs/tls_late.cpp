// SPDX-License-Identifier: Apache-2.0
/*
 * thread_local objects with destructors, in threads and in main, and static
 * objects: their memory goes back after the thread's and the program's own end.
 *
 *   //! in fill count=40 live_count=0
 *   //! in make_static count=1 bytes=1000 live_count=0
 */
#include <string>
#include <thread>
#include <vector>

#include "trap.h"

struct Bag {
    void *blocks[3] = {};
    ~Bag()
    {
        for (void *block : blocks)
            free(block);
    }
};

static thread_local Bag bag;

SITE static void fill()
{
    for (void *&block : bag.blocks)
        block = malloc(50);
}

SITE static std::string make_static()
{
    return std::string(999, 'x');
}

static std::string global = make_static();

int main()
{
    for (int i = 0; i < 9; i++)
        std::thread(fill).join();
    fill();
    CHECK(global.size() == 999);
    return 0;
}
