// SPDX-License-Identifier: Apache-2.0
// Allocations in Google Benchmark's own table, stacks in ours.
//
//     cd examples/windows/google_benchmark
//     c++ -O2 -g -I../../../include bench.cc -lbenchmark -lpthread -o bench
//     memhawk run -- ./bench
//     memhawk report memhawk_bench_*.binpb --window split
#define MEMHAWK_GOOGLE_BENCHMARK
#include <memhawk.h>

#include <string>
#include <vector>

static const std::string line =
    "alpha;beta;gamma;delta;epsilon;zeta;eta;theta;iota;kappa;lambda;mu";

// Twelve fields that fit into std::string itself; the vector grows 1, 2, 4, 8, 16: 5 allocations.
__attribute__((noinline)) std::vector<std::string> split(const std::string &text)
{
    std::vector<std::string> fields;
    size_t begin = 0, end;
    while ((end = text.find(';', begin)) != std::string::npos) {
        fields.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    fields.push_back(text.substr(begin));
    return fields;
}

static void BM_split(benchmark::State &state)
{
    memhawk::benchmark_loop loop(state, "split");
    for (auto _ : state) {
        auto iteration = loop.next();
        benchmark::DoNotOptimize(split(line));
    }
}
BENCHMARK(BM_split);

static void BM_copy(benchmark::State &state)
{
    memhawk::benchmark_loop loop(state, "copy");
    for (auto _ : state) {
        auto iteration = loop.next();
        std::string copy = line; // longer than what std::string holds itself: 1 allocation
        benchmark::DoNotOptimize(copy.data());
    }
}
BENCHMARK(BM_copy);

// A window for each argument. The vector grows 1, 2, 4 to 4: 3 allocations; to 64: 7.
static void BM_grow(benchmark::State &state)
{
    memhawk::benchmark_loop loop(state, "grow/" + std::to_string(state.range(0)));
    for (auto _ : state) {
        auto iteration = loop.next();
        std::vector<int> numbers;
        for (int i = 0; i < state.range(0); i++)
            numbers.push_back(i);
        benchmark::DoNotOptimize(numbers.data());
    }
}
BENCHMARK(BM_grow)->Arg(4)->Arg(64);

// Without a loop object: the memory manager measures the whole run, harness included.
static void BM_plain(benchmark::State &state)
{
    for (auto _ : state)
        benchmark::DoNotOptimize(split(line));
}
BENCHMARK(BM_plain);

int main(int argc, char **argv)
{
    memhawk::benchmark_memory_manager manager;
    benchmark::Initialize(&argc, argv);
    if (memhawk_active())
        benchmark::RegisterMemoryManager(&manager);
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return 0;
}
