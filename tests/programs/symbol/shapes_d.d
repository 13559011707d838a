// SPDX-License-Identifier: Apache-2.0
module shapes_d;

struct Meadow(T)
{
    T grass;
    pragma(inline, false) T graze(T bites)
    {
        return cast(T)(grass - bites);
    }
}

pragma(inline, false) int pasture(int n)
{
    auto meadow = Meadow!int(n);
    return meadow.graze(1);
}

int main(string[] arguments)
{
    return pasture(cast(int) arguments.length);
}
