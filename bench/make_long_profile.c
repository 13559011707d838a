// SPDX-License-Identifier: Apache-2.0
/*
 * make_long_profile [--snapshots 3600] [--stacks 20000] [--interval-ms 1000] [--changes 300-1000]
 *                   [--seed 1] [--live] -o FILE
 *
 * Writes the profile of a long run of a program that never was: through the encoder of the
 * recorder, with real functions (long_code.h), a heap that lives (long_heap.h), RSS, peaks between
 * ticks, marks and windows. The last of the snapshots ends the run; peaks come on top. The same
 * options and the same binary write the same file, but for --live.
 *
 * Prints what it wrote as lines of "name=value": what a reader must find. A "moment" is
 * time:live-bytes:live-count:total-bytes:total-count:temporary:overhead.
 *
 * --live: does not end the run, writes its own pid, and waits: each byte on standard input adds one
 * tick, for which it prints "tick=TIME:LIVE_BYTES:WRITTEN", WRITTEN the wall clock in ns right
 * after write(2); the end of input ends the run.
 */
#include <fcntl.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include "base/bits.h"
#include "base/sys.h"
#include "format/wire.h"
#include "long_code.h"
#include "long_heap.h"

#define START_NS UINT64_C(1767225600000000000) /* 2026-01-01 */

enum { HEADER = 8, WINDOWS = 3, SHAPES = 5, SHAPE_ROWS = 12, MARK_PARTS = 12 };

static struct {
    uint32_t snapshots, stacks, interval_ms, changes_min, changes_max;
    uint64_t seed;
    bool live;
    const char *path;
} option = {3600, 20000, 1000, 300, 1000, 1, false, NULL};

static int file = -1;
static uint64_t start_ns, records, peaks, peak_bytes, peak_ns, written_bytes, random_state;
static uint64_t iterations[WINDOWS][SHAPES];
static uint64_t rss_bytes;
static WireBuffer body, parts;
static uint8_t *packed;
static size_t packed_capacity;
static ZSTD_CCtx *compressor;

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static uint8_t *grow(uint8_t *data, size_t bytes, size_t old_capacity, size_t new_capacity)
{
    (void)bytes;
    (void)old_capacity;
    return realloc(data, new_capacity);
}

static void write_record(void)
{
    size_t bound = HEADER + ZSTD_compressBound(body.bytes);

    if (body.failed)
        die("make_long_profile");
    if (bound > packed_capacity) {
        packed = realloc(packed, packed_capacity = bound * 2);
        if (!packed)
            die("make_long_profile");
    }
    size_t bytes =
        ZSTD_compress2(compressor, packed + HEADER, bound - HEADER, body.data, body.bytes);
    if (ZSTD_isError(bytes)) {
        fprintf(stderr, "make_long_profile: %s\n", ZSTD_getErrorName(bytes));
        exit(1);
    }
    store_be64(packed, bytes);
    if (sys_write_all(file, packed, HEADER + bytes) < 0)
        die(option.path);
    written_bytes += HEADER + bytes;
    records++;
    body.bytes = 0;
}

static void write_process(void)
{
    char host[256] = "", arguments[4][32] = {"long_runner", "--workers=8", "--serve", ""};
    char self[4096] = "";

    gethostname(host, sizeof host - 1);
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
        die("/proc/self/exe");
    wire_string(&body, 1, "long_runner");
    wire_string(&body, 2, self);
    wire_uint(&body, 3, option.live ? (uint64_t)getpid() : 4194303);
    wire_uint(&body, 4, start_ns);
    wire_uint(&body, 100, 1);
    wire_string(&body, 101, "memhawk " MEMHAWK_VERSION);
    for (int i = 0; i < 3; i++)
        wire_string(&body, 102, arguments[i]);
    wire_uint(&body, 103, 1);
    wire_string(&body, 104, host);
    wire_uint(&body, 105, option.interval_ms);
    wire_string(&body, 106, "cfi");
    wire_uint(&body, 107, 256);
    wire_string(&body, 109, "/usr/lib/x86_64-linux-gnu/libc.so.6");
    wire_uint(&body, 111, 32);
    write_record();
}

/* ---- windows and marks ----------------------------------------------------------------------- */

static void put_shapes(uint32_t window)
{
    for (uint32_t shape = 0; shape < SHAPES; shape++) {
        size_t at = wire_begin(&body, 110);
        wire_uint(&body, 1, window + 1);
        wire_uint(&body, 2, shape + 1);
        for (uint32_t k = 0; k < SHAPE_ROWS + shape && k < option.stacks / 8; k++) {
            size_t row = wire_begin(&body, 3);
            uint64_t count = 1 + (window + shape + k) % 7;
            wire_uint(&body, 1, (window * 31 + k * 3) % (option.stacks / 8 + 1) + 1);
            wire_uint(&body, 2, count);
            wire_uint(&body, 3, count * (32 << (k % 5)));
            wire_uint(&body, 4, count - 1);
            wire_uint(&body, 5, (count - 1) * (32 << (k % 5)));
            wire_uint(&body, 6, count / 2);
            wire_end(&body, row);
        }
        wire_end(&body, at);
    }
}

static void put_windows(uint32_t tick)
{
    static const char *const names[WINDOWS] = {"request", "flush", "reload <config>"};

    for (uint32_t w = 0; w < WINDOWS; w++) {
        uint64_t begun = 0;
        if (tick % (w * 10 + 1))
            continue;
        uint32_t shape = (uint32_t)(code_random(&random_state) % SHAPES);
        iterations[w][shape] += w ? 1 : 20 + code_random(&random_state) % 80;
        for (int i = 0; i < SHAPES; i++)
            begun += iterations[w][i];
        size_t at = wire_begin(&body, 109);
        wire_uint(&body, 1, w + 1);
        wire_string(&body, 2, names[w]);
        wire_uint(&body, 3, w == 2);
        wire_uint(&body, 4, begun);
        wire_end(&body, at);
        if (tick == 0)
            put_shapes(w);
        at = wire_begin(&body, 111);
        wire_uint(&body, 1, w + 1);
        wire_uint(&body, 2, shape + 1);
        wire_uint(&body, 3, iterations[w][shape]);
        wire_uint(&body, 4, iterations[w][shape] * UINT64_C(1700000) * (w + 1));
        wire_uint(&body, 5, 40000 * (w + shape + 1u));
        wire_uint(&body, 6, 10000 * (w + shape + 1u));
        wire_end(&body, at);
    }
}

static void put_mark(uint32_t tick, uint64_t time_ns)
{
    uint32_t part = option.snapshots / MARK_PARTS;
    char text[64];

    if (!part || tick % part != part / 2)
        return;
    snprintf(text, sizeof text, "phase %u", tick / part + 1);
    size_t at = wire_begin(&body, 108);
    wire_uint(&body, 1, time_ns - 1000);
    wire_string(&body, 2, text);
    wire_uint(&body, 3, 4194303);
    wire_end(&body, at);
}

/* ---- snapshots ------------------------------------------------------------------------------- */

/* Definitions go to the body, states behind them. */
static void put_changes(void)
{
    const uint32_t *changed;
    uint32_t count = heap_changed(&changed);

    parts.bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (heap_take_new(changed[i]))
            code_put_stack(&body, changed[i]);
        size_t at = wire_begin(&parts, 2);
        wire_uint(&parts, 1, changed[i] + 1);
        heap_put(&parts, 2, heap_state(changed[i]));
        wire_end(&parts, at);
    }
    if (parts.failed || !wire_reserve(&body, parts.bytes))
        die("make_long_profile");
    memcpy(body.data + body.bytes, parts.data, parts.bytes);
    body.bytes += parts.bytes;
}

static void put_head(uint64_t time_ns, uint32_t kind)
{
    const HeapState *total = heap_total();

    if ((uint64_t)total->live_bytes > peak_bytes) {
        peak_bytes = (uint64_t)total->live_bytes;
        peak_ns = time_ns;
    }
    wire_uint(&body, 1, time_ns);
    heap_put(&body, 7, total);
    wire_uint(&body, 100, kind);
    wire_uint(&body, 102, peak_bytes);
    wire_uint(&body, 103, peak_ns);
}

/* Pages go back slowly: RSS follows what is handed out upwards at once, downwards by parts. */
static uint64_t rss_now(void)
{
    const HeapState *total = heap_total();
    uint64_t used = (uint64_t)(total->live_bytes + total->overhead) + (UINT64_C(48) << 20);

    used += used / 50;
    rss_bytes = used > rss_bytes ? used : rss_bytes - (rss_bytes - used) / 32;
    return rss_bytes & ~UINT64_C(4095);
}

static void write_tick(uint32_t tick, bool last)
{
    uint64_t time_ns = start_ns + (tick + UINT64_C(1)) * option.interval_ms * 1000000;

    heap_tick(tick);
    put_head(time_ns, last ? 2 : 0);
    wire_uint(&body, 101, rss_now());
    wire_uint(&body, 106, (UINT64_C(26) << 20) + heap_stacks_seen() * UINT64_C(400));
    wire_uint(&body, 107, 9 + tick / 60 % 4);
    put_mark(tick, time_ns);
    put_windows(tick);
    if (tick == 0)
        code_put_modules(&body, time_ns);
    put_changes();
    if (last) {
        size_t end = wire_begin(&body, 105);
        wire_uint(&body, 1, 1);
        wire_end(&body, end);
    }
    write_record();
    if (last || !heap_burst())
        return;
    put_head(time_ns + option.interval_ms * UINT64_C(400000), 1);
    put_changes();
    write_record();
    peaks++;
}

/* ---- what a reader must find ------------------------------------------------------------------
 */

static void print_moment(uint32_t tick)
{
    const HeapState *total = heap_total();

    printf("moment=%llu:%lld:%lld:%llu:%llu:%llu:%lld\n",
           (unsigned long long)(start_ns + (tick + UINT64_C(1)) * option.interval_ms * 1000000),
           (long long)total->live_bytes, (long long)total->live_count,
           (unsigned long long)total->total_bytes, (unsigned long long)total->total_count,
           (unsigned long long)total->temporary, (long long)total->overhead);
}

static void print_result(void)
{
    printf("records=%llu\npeaks=%llu\nstacks=%u\nframes=%zu\npeak_bytes=%llu\npeak_ns=%llu\n"
           "file_bytes=%llu\n",
           (unsigned long long)records, (unsigned long long)peaks, heap_stacks_seen(),
           code_frame_count(), (unsigned long long)peak_bytes, (unsigned long long)peak_ns,
           (unsigned long long)written_bytes);
    fflush(stdout);
}

static uint64_t wall_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void write_on_request(void)
{
    uint32_t tick = option.snapshots;

    for (; getchar() != EOF; tick++) {
        write_tick(tick, false);
        uint64_t written = wall_ns();
        printf("tick=%llu:%lld:%llu\n",
               (unsigned long long)(start_ns + (tick + UINT64_C(1)) * option.interval_ms * 1000000),
               (long long)heap_total()->live_bytes, (unsigned long long)written);
        fflush(stdout);
    }
    write_tick(tick, true);
}

/* ---- options --------------------------------------------------------------------------------- */

static uint64_t number(const char *text, uint64_t least, uint64_t most)
{
    char *end;
    unsigned long long value = strtoull(text, &end, 10);

    if (end == text || *end || value < least || value > most) {
        fprintf(stderr, "make_long_profile: %s: not a number from %llu to %llu\n", text,
                (unsigned long long)least, (unsigned long long)most);
        exit(2);
    }
    return value;
}

static void read_changes(char *text)
{
    char *dash = strchr(text, '-');

    if (dash)
        *dash = 0;
    option.changes_min = (uint32_t)number(text, 0, 1000000);
    option.changes_max =
        dash ? (uint32_t)number(dash + 1, option.changes_min, 1000000) : option.changes_min;
}

static void read_options(int argc, char **argv)
{
    static const struct option longs[] = {{"snapshots", required_argument, NULL, 'n'},
                                          {"stacks", required_argument, NULL, 's'},
                                          {"interval-ms", required_argument, NULL, 'i'},
                                          {"changes", required_argument, NULL, 'c'},
                                          {"seed", required_argument, NULL, 'r'},
                                          {"live", no_argument, NULL, 'l'},
                                          {NULL, 0, NULL, 0}};
    int letter;

    while ((letter = getopt_long(argc, argv, "o:", longs, NULL)) != -1) {
        switch (letter) {
        case 'n':
            option.snapshots = (uint32_t)number(optarg, 1, 10000000);
            break;
        case 's':
            option.stacks = (uint32_t)number(optarg, 10, 1000000);
            break;
        case 'i':
            option.interval_ms = (uint32_t)number(optarg, 1, 3600000);
            break;
        case 'c':
            read_changes(optarg);
            break;
        case 'r':
            option.seed = number(optarg, 0, UINT64_MAX >> 1);
            break;
        case 'l':
            option.live = true;
            break;
        case 'o':
            option.path = optarg;
            break;
        default:
            exit(2);
        }
    }
    if (optind != argc || !option.path) {
        fputs("make_long_profile: needs -o FILE, and no other argument\n", stderr);
        exit(2);
    }
}

int main(int argc, char **argv)
{
    read_options(argc, argv);
    uint64_t span_ns = option.snapshots * UINT64_C(1000000) * option.interval_ms;
    start_ns = option.live ? wall_ns() - span_ns : START_NS;
    random_state = option.seed * 2 + 1;
    body.grow = parts.grow = grow;
    compressor = ZSTD_createCCtx();
    if (!compressor)
        die("make_long_profile");
    ZSTD_CCtx_setParameter(compressor, ZSTD_c_checksumFlag, 1);
    file = open(option.path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    if (file < 0)
        die(option.path);
    code_load(option.seed + 1);
    code_make_stacks(option.stacks);
    heap_init(&(HeapPlan){option.stacks, option.snapshots, option.changes_min, option.changes_max,
                          option.seed});
    write_process();
    for (uint32_t tick = 0; tick < option.snapshots; tick++) {
        write_tick(tick, !option.live && tick + 1 == option.snapshots);
        if (tick == option.snapshots / 3 || tick == option.snapshots / 2 ||
            tick + 1 == option.snapshots)
            print_moment(tick);
    }
    print_result();
    if (option.live)
        write_on_request();
    return 0;
}
