// SPDX-License-Identifier: Apache-2.0
// For diff: allocations inside a lambda, which is inlined or not, and named in three ways.
#include <memory>
#include <vector>

#include "memhawk.h"

template <class F> __attribute__((noinline)) void each(int n, F f)
{
    for (int i = 0; i < n; i++)
        f(i);
    __asm__ volatile("");
}

__attribute__((noinline)) void fill(std::vector<std::unique_ptr<int>> &to)
{
    each(20, [&](int i) { to.push_back(std::make_unique<int>(i)); });
    __asm__ volatile("");
}

__attribute__((noinline)) void parse()
{
    std::vector<std::unique_ptr<int>> numbers;
    fill(numbers);
    __asm__ volatile("");
}

int main()
{
    for (int i = 0; i < 10; i++) {
        memhawk::window window("parse");
        parse();
    }
    return 0;
}
