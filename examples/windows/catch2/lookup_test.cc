// SPDX-License-Identifier: Apache-2.0
// "This block allocates nothing", as a Catch2 assertion.
//
//     cd examples/windows/catch2
//     c++ -O2 -g -I../../../include lookup_test.cc -o lookup_test      (Catch2 v2)
//     memhawk run -- ./lookup_test
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#include <memhawk.h> // after catch.hpp: failures become test failures

#include <string>

TEST_CASE("short strings allocate nothing")
{
    MEMHAWK_EXPECT_ALLOCATIONS(0)
    {
        std::string text = "fifteen bytes..";
        text[0] = 'F';
    }
}

TEST_CASE("long strings allocate nothing") // wrong, and told
{
    MEMHAWK_EXPECT_ALLOCATIONS(0)
    {
        std::string text = "sixteen bytes...";
        text[0] = 'S';
    }
}
