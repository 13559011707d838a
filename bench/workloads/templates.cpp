// SPDX-License-Identifier: Apache-2.0
/*
 * A file that keeps g++ busy with templates: <regex>, nested containers, a variant that is visited
 * in all combinations, and a compile-time list that is built by recursion. Never run.
 */
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <regex>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

template <int N> struct Tag {
    std::string name;
    int value = N;
};

template <std::size_t... Is> auto tag_tuple(std::index_sequence<Is...>)
{
    return std::make_tuple(Tag<static_cast<int>(Is)>{}...);
}

template <typename Tuple, std::size_t... Is>
int sum_tuple(const Tuple &tuple, std::index_sequence<Is...>)
{
    return (0 + ... + std::get<Is>(tuple).value);
}

template <int N> int nested()
{
    std::map<Tag<N> *, std::unordered_map<std::string, std::vector<Tag<N>>>> all;
    all[nullptr]["x"].push_back(Tag<N>{});
    for (auto &[key, inner] : all)
        for (auto &[name, tags] : inner)
            std::sort(tags.begin(), tags.end(),
                      [](const Tag<N> &a, const Tag<N> &b) { return a.name < b.name; });
    return static_cast<int>(all.size()) + nested<N - 1>();
}

template <> int nested<0>()
{
    return 0;
}

using Value = std::variant<Tag<1>, Tag<2>, Tag<3>, Tag<4>, Tag<5>, Tag<6>, Tag<7>, Tag<8>>;

int main(int argc, char **argv)
{
    std::regex pattern("([a-z]+)=([0-9]+|\"[^\"]*\")");
    std::smatch match;
    const std::string text = argv[argc - 1];
    const bool found = std::regex_search(text, match, pattern);
    auto tuple = tag_tuple(std::make_index_sequence<32>());
    Value a = Tag<3>{}, b = Tag<5>{};
    const int pair = std::visit([](auto &x, auto &y) { return x.value * y.value; }, a, b);
    return nested<8>() + sum_tuple(tuple, std::make_index_sequence<32>()) + pair + (found ? 1 : 0);
}
