// SPDX-License-Identifier: Apache-2.0
/*
 * Fuzzer of filters: the input is the expression, up to its first zero byte. Whatever it is, it is
 * refused with words or matched within its time; the fuzzer's own limits tell when it is not.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "export/filter.h"

#define LIMIT_NS 20000000ULL

static void need(bool condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "broken: %s\n", what);
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {
        "", "std::vector<int, std::allocator<int> >::_M_realloc_insert<int const&>(int const&)",
        "/usr/lib/x86_64-linux-gnu/libc.so.6", "\xc3\xa9t\xc3\xa9 \xff",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
    char why[200];
    Filter *filter = NULL;
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    int r = filter_new(text, LIMIT_NS, why, sizeof(why), &filter);
    need(r == 0 ? filter && !*why : r == -EINVAL && !filter && *why, "filter_new");
    for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(names); i++) {
        r = filter_match(filter, names[i]);
        need(r == 0 || r == 1 || r == -ETIME || r == -ENOMEM, "filter_match");
    }
    filter_free(filter);
    free(text);
    return 0;
}
