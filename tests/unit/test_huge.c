// SPDX-License-Identifier: Apache-2.0
/* Mappings for huge pages: where they lie, what is left of them, what the kernel is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "base/sys.h"
#include "runtime/arena.h"
#include "runtime/huge.h"
#include "vm_flags.h"

enum { TWO_MIB = 0x200000 };

/* Of the whole address space, KiB. */
static long mapped_kib(void)
{
    long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    assert_non_null(statm);
    assert_int_equal(fscanf(statm, "%ld", &pages), 1);
    fclose(statm);
    return pages * 4;
}

/* At multiples of 2 MiB, zeroed, and nothing is mapped beside. */
static void test_alignment(void **state)
{
    static const size_t sizes[] = {1, 4096, 5000, TWO_MIB - 1, TWO_MIB, TWO_MIB + 4096, 9000000};
    static const long kib[] = {4, 4, 8, 2048, 2048, 2052, 8792};
    (void)state;
    mapped_kib(); /* what stdio maps for itself is there from now on */
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        long before = mapped_kib();
        char *memory = huge_map(sizes[i]);
        assert_non_null(memory);
        assert_int_equal((uintptr_t)memory % TWO_MIB, 0);
        assert_int_equal(mapped_kib() - before, kib[i]);
        assert_int_equal(memory[0], 0);
        memory[sizes[i] - 1] = 1;
        sys_unmap(memory, (sizes[i] + 4095) & ~(size_t)4095);
        assert_int_equal(mapped_kib(), before);
    }
}

/* Whether or not the 2 MiB around it happen to be aligned already. */
static void test_any_place(void **state)
{
    char *kept[16];
    (void)state;
    for (int i = 0; i < 16; i++) {
        kept[i] = huge_map(TWO_MIB + 4096 * (size_t)(i % 3));
        assert_int_equal((uintptr_t)kept[i] % TWO_MIB, 0);
        kept[i][TWO_MIB - 1] = (char)i;
    }
    for (int i = 0; i < 16; i++) {
        assert_int_equal(kept[i][TWO_MIB - 1], i);
        sys_unmap(kept[i], TWO_MIB + 4096 * (size_t)(i % 3));
    }
}

static void test_hints(void **state)
{
    (void)state;
    if (!vm_knows_huge())
        skip();
    char *memory = huge_map(4 * TWO_MIB);
    huge_refuse(memory, 4 * TWO_MIB);
    assert_true(vm_has_flag(memory + 4 * TWO_MIB - 1, "nh"));
    huge_want(memory + TWO_MIB, TWO_MIB);
    assert_true(vm_has_flag(memory, "nh"));
    assert_true(vm_has_flag(memory + TWO_MIB, "hg"));
    assert_false(vm_has_flag(memory + TWO_MIB, "nh"));
    assert_true(vm_has_flag(memory + 2 * TWO_MIB, "nh"));
    sys_unmap(memory, 4 * TWO_MIB);
}

/* Advice that the kernel would make nothing of is not given. */
static void test_settings(void **state)
{
    static const struct {
        const char *setting;
        bool refused, wanted;
    } cases[] = {
        {"always [madvise] never\n", false, true},
        {"always madvise [never]\n", false, false},
        {"", false, false},
        {"[always] madvise never\n", true, true},
    };
    (void)state;
    if (!vm_knows_huge())
        skip();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *memory = huge_map(2 * TWO_MIB);
        huge_know(cases[i].setting);
        huge_refuse(memory, TWO_MIB);
        huge_want(memory + TWO_MIB, TWO_MIB);
        assert_int_equal(vm_has_flag(memory, "nh"), cases[i].refused);
        assert_int_equal(vm_has_flag(memory + TWO_MIB, "hg"), cases[i].wanted);
        sys_unmap(memory, 2 * TWO_MIB);
    }
}

/* What the arena maps to be filled: from 2 MiB on by huge pages, and given back whole. */
static void test_filled(void **state)
{
    (void)state;
    uint64_t counted = arena_bytes();
    char *large = arena_map_filled(ARENA_STACKS, TWO_MIB + 16);
    char *small = arena_map_filled(ARENA_STACKS, TWO_MIB - 4096);
    assert_int_equal(arena_bytes() - counted, 2 * TWO_MIB);
    assert_int_equal((uintptr_t)large % TWO_MIB, 0);
    large[TWO_MIB + 15] = small[TWO_MIB - 4097] = 1;
    if (vm_knows_huge()) {
        assert_true(vm_has_flag(large, "hg"));
        assert_true(vm_has_flag(large + TWO_MIB, "hg"));
        assert_false(vm_has_flag(small, "hg"));
    }
    long before = mapped_kib();
    arena_unmap(ARENA_STACKS, large, TWO_MIB + 16);
    assert_int_equal(before - mapped_kib(), 2052);
    arena_unmap(ARENA_STACKS, small, TWO_MIB - 4096);
    assert_int_equal(arena_bytes(), counted);
}

/* Where there is room for the bytes but not for 2 MiB more, they lie anywhere. */
static void test_short_of_space(void **state)
{
    struct rlimit old, tight;
    (void)state;
    getrlimit(RLIMIT_AS, &old);
    tight = old;
    tight.rlim_cur = (rlim_t)(mapped_kib() + 1024) * 1024;
    if (setrlimit(RLIMIT_AS, &tight) != 0)
        skip();
    char *memory = huge_map(512 << 10), *none = huge_map(8 << 20);
    setrlimit(RLIMIT_AS, &old);
    assert_non_null(memory);
    assert_null(none);
    memory[(512 << 10) - 1] = 1;
    sys_unmap(memory, 512 << 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alignment), cmocka_unit_test(test_any_place),
        cmocka_unit_test(test_hints),     cmocka_unit_test(test_settings),
        cmocka_unit_test(test_filled),    cmocka_unit_test(test_short_of_space),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
