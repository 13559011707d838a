// SPDX-License-Identifier: Apache-2.0
/*
 * list16 [THREADS [NODES [ROUNDS]]]: each thread builds a std::list of NODES integers and empties
 * it again, ROUNDS times. The workload by which the published MemHawk design was measured: hardly
 * any work besides malloc and free, a stack of few frames that is always the same. Defaults 16,
 * 200,000 and 1.
 */
#include <cstdlib>
#include <list>
#include <thread>
#include <vector>

static void churn(long nodes, long rounds)
{
    for (long round = 0; round < rounds; round++) {
        std::list<long> list;
        for (long i = 0; i < nodes; i++)
            list.push_back(i);
        while (!list.empty())
            list.pop_front();
    }
}

int main(int argc, char **argv)
{
    const long threads = argc > 1 ? std::atol(argv[1]) : 16;
    const long nodes = argc > 2 ? std::atol(argv[2]) : 200000;
    const long rounds = argc > 3 ? std::atol(argv[3]) : 1;
    std::vector<std::thread> all;
    for (long i = 0; i < threads; i++)
        all.emplace_back(churn, nodes, rounds);
    for (std::thread &thread : all)
        thread.join();
    return 0;
}
