// SPDX-License-Identifier: Apache-2.0
#include "shapes.h"

#include <stdexcept>
#include <string>
#include <utility>

namespace zoo
{

template <typename T> class Cage
{
  public:
    explicit __attribute__((noinline)) Cage(T value) : value_(value)
    {
        MARK("zoo::Cage<int>::Cage(int)");
    }
    __attribute__((noinline)) T feed(const std::string &food);
    inline __attribute__((always_inline)) T pet(T times)
    {
        MARK("zoo::Cage<int>::pet(int)");
        return value_ * times;
    }
    __attribute__((noinline)) bool operator<(const Cage &other) const
    {
        MARK("zoo::Cage<int>::operator<(zoo::Cage<int> const&) const");
        return value_ < other.value_;
    }

  private:
    T value_;
};

static const char feed_name[] =
    "zoo::Cage<int>::feed(std::__cxx11::basic_string<char, std::char_traits<char>, "
    "std::allocator<char> > const&)";

template <typename T> T Cage<T>::feed(const std::string &food)
{
    MARK(feed_name);
    return pet((T)food.size());
}

namespace
{

__attribute__((noinline)) int night_guard(int n)
{
    MARK("zoo::(anonymous namespace)::night_guard(int)");
    return n + 1;
}

/* Static and inlined: gcc gives it no linkage name, so its parameters are not known. */
inline __attribute__((always_inline)) int day_guard(int n)
{
    MARK("zoo::(anonymous namespace)::day_guard");
    return n + 2;
}

} // namespace

static __attribute__((noinline)) int static_guard(int n)
{
    MARK("zoo::static_guard(int)");
    return day_guard(night_guard(n));
}

template <typename F> __attribute__((noinline)) int twice(F f, int n)
{
    return f(f(n));
}

__attribute__((noinline)) int escape(int n)
{
    if (n > 1000)
        throw std::runtime_error("gone");
    MARK("zoo::escape(int)");
    return n;
}

} // namespace zoo

extern "C" void cxx_side(int n)
{
    MARK("cxx_side");
    zoo::Cage<int> a(n), b(n + 1);
    n += a.feed("hay") + (a < b) + zoo::static_guard(n) + zoo::escape(n);
    zoo::twice(
        [](int i) {
            MARK("cxx_side::{lambda(int)#1}::operator()(int) const");
            return i + 1;
        },
        n);
}
