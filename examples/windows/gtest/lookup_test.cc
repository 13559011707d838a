// SPDX-License-Identifier: Apache-2.0
// "This block allocates nothing", as a GoogleTest assertion.
//
//     cd examples/windows/gtest
//     c++ -O2 -g -I../../../include lookup_test.cc -lgtest -lgtest_main -lpthread -o lookup_test
//     memhawk run -- ./lookup_test
#include <gtest/gtest.h>
#include <memhawk.h> // after gtest.h: failures become test failures

#include <map>
#include <string>

static std::map<std::string, int> table()
{
    return {{"alpha", 1}, {"a key that is longer than fifteen bytes", 2}};
}

TEST(Lookup, FindAllocatesNothing)
{
    const auto map = table();
    const std::string key = "alpha";
    MEMHAWK_EXPECT_ALLOCATIONS(0)
    {
        EXPECT_EQ(map.find(key)->second, 1);
    }
}

TEST(Lookup, InsertTakesOneNode)
{
    auto map = table();
    MEMHAWK_EXPECT_AT_MOST(1)
    {
        map.emplace("beta", 3);
    }
}

// The classic mistake: at() wants a std::string, so that a long literal becomes a temporary on the
// heap.
TEST(Lookup, LiteralKeyAllocatesNothing)
{
    const auto map = table();
    MEMHAWK_EXPECT_ALLOCATIONS(0)
    {
        EXPECT_EQ(map.at("a key that is longer than fifteen bytes"), 2);
    }
}
