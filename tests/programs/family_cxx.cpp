// SPDX-License-Identifier: Apache-2.0
/*
 * operator new and delete in all their forms, counted through malloc, at their
 * caller.
 *
 *   //! in site_new count=4 bytes=132 live_count=0 temporary=4
 *   //! in site_aligned_new count=2 bytes=320 live_count=1 live_bytes=192
 *   //! in site_fails count=<=1
 *   //! in site_vector count=4 bytes=120 live_count=0
 *   //! run all
 */
#include <new>
#include <vector>

#include "trap.h"

struct Small {
    char text[16];
};
struct alignas(64) Wide {
    char text[64];
};
static volatile size_t huge = SIZE_MAX / 4;

SITE static void site_new()
{
    Small *one = new Small;
    keep(one);
    delete one;
    Small *many = new Small[6];
    keep(many);
    delete[] many;
    void *raw = ::operator new(10, std::nothrow);
    keep(raw);
    ::operator delete(raw, size_t(10));
    char *text = new char[10];
    keep(text);
    delete[] text;
}

SITE static void site_aligned_new()
{
    Wide *one = new Wide[2];
    Wide *three = new Wide[3];

    CHECK(reinterpret_cast<uintptr_t>(one) % 64 == 0);
    keep(three);
    delete[] one;
}

SITE static void site_fails()
{
    void *none = ::operator new(huge, std::nothrow);
    CHECK(!none);
}

SITE static void site_vector() /* 8, 16, 32, 64 bytes */
{
    std::vector<double> numbers;

    for (int i = 0; i < 8; i++)
        numbers.push_back(i);
    keep(numbers.data());
}

int main()
{
    site_new();
    site_aligned_new();
    site_fails();
    site_vector();
    return 0;
}
