// SPDX-License-Identifier: Apache-2.0
/*
 * A benchmark without a harness: time and allocations of the same loop.
 *
 *     cc -O2 -g -Iinclude examples/windows/plain_c/loop.c -o loop
 *     ./loop                                   time only: the calls cost a compare each
 *     memhawk run -- ./loop                    and the report: --window join
 */
#include <memhawk.h>
#include <string.h>
#include <time.h>

enum { WORDS = 12, ROUNDS = 1000 };

static const char *const words[WORDS] = {"one",   "two",   "three", "four", "five",   "six",
                                         "seven", "eight", "nine",  "ten",  "eleven", "twelve"};

/* Grows the text for each word: 12 allocations. */
static __attribute__((noinline)) char *join_slowly(void)
{
    char *text = NULL;
    size_t length = 0;
    for (int i = 0; i < WORDS; i++) {
        size_t more = strlen(words[i]);
        text = realloc(text, length + more + 1);
        memcpy(text + length, words[i], more + 1);
        length += more;
    }
    return text;
}

/* Knows the length beforehand: 1 allocation. */
static __attribute__((noinline)) char *join(void)
{
    size_t length = 0;
    for (int i = 0; i < WORDS; i++)
        length += strlen(words[i]);
    char *text = malloc(length + 1), *to = text;
    for (int i = 0; i < WORDS; i++)
        to = stpcpy(to, words[i]);
    return text;
}

static double seconds(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void measure(const char *name, char *(*function)(void))
{
    uint64_t allocations = 0, bytes = 0;
    double begin = seconds();
    for (int i = 0; i < ROUNDS; i++) {
        struct memhawk_counts counts;
        memhawk_window window = memhawk_window_begin(name, MEMHAWK_THREAD);
        free(function());
        memhawk_window_end(window);
        if (memhawk_window_stats(&counts) == 0) {
            allocations += counts.allocations;
            bytes += counts.bytes;
        }
    }
    double ns = (seconds() - begin) * 1e9 / ROUNDS;
    if (memhawk_active())
        printf("%-12s %10.0f ns %8.1f allocations %8.1f bytes\n", name, ns,
               (double)allocations / ROUNDS, (double)bytes / ROUNDS);
    else
        printf("%-12s %10.0f ns   allocations not measured\n", name, ns);
}

int main(void)
{
    measure("join_slowly", join_slowly);
    measure("join", join);
    return 0;
}
