// SPDX-License-Identifier: Apache-2.0
/*
 * A profile by hand. Frames, stacks and values stand in tables; labels are one per (function,
 * module), made from the frames in order. Two moments: the peak (2 s) and the end (5.5 s).
 *
 *   stack  frames, leaf first                           peak: live B/n   end: live B/n  ever B/n
 * temp ovh 0      operator new, push_back in build, main, start      1000 / 10      600 /  6   5000
 * / 50   20   60 1      recurse x3, main, start                             300 /  3      300 /  3
 * 300 /  3    0   12 2      evil, main, start        cut at the depth limit     200 /  2        0 /
 * 0    900 /  9    7    0 3      0x1234 in libc.so.6, no module    ended early         0 /  0 100 /
 * 1    100 /  1    0    4 4      none                     lost                         0 /  0 24 /
 * 2     24 /  2    0    8 5      push_back in build, main, start                       0 /  0 0 /
 * 0      0 /  0    0    0 sum                                                1500 / 15     1024 /
 * 12   6324 / 65   27   84
 */
#include "export_fake.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"

#define EVIL "evil;na me</script><!--\x1b[31m\xff\xe2\x80\xa8\"&'"

typedef struct FakeFrame {
    ProfileFrame frame;
    SymbolFrame symbols[2];
    int count; /* 0: no symbol */
} FakeFrame;

static const struct ProfileSegment segments[] = {{0x1000, 0x3000}};
static const uint8_t build_id[] = {0xde, 0xad, 0xbe, 0xef, 0x01};
static const ProfileModule modules[] = {
    {.module_id = 1,
     .path = "/opt/app/prog",
     .bias = 0x400000,
     .segments = segments,
     .segment_count = 1,
     .build_id = build_id,
     .build_id_size = sizeof(build_id)},
    {.module_id = 2,
     .path = "/lib/libc.so.6",
     .bias = 0x7f0000000000,
     .segments = segments,
     .segment_count = 1},
};

static const FakeFrame small_frames[] = {
    {{0x401011, 0, false},
     {{"std::vector<int, std::allocator<int> >::push_back(int const&)",
       "_ZNSt6vectorIiE9push_backERKi", "/usr/include/vector", 120, true},
      {"build(int)", "_Z5buildi", "/src/app.cpp", 10, false}},
     2},
    {{0x401031, 0, false}, {{"main", "main", "/src/app.cpp", 30, false}}, 1},
    {{0x7f0000001501, 1, false}, {{"__libc_start_main", "__libc_start_main", NULL, 0, false}}, 1},
    {{0x401061, 0, false}, {{"operator new(unsigned long)", "_Znwm", NULL, 0, false}}, 1},
    {{0x401021, 0, false}, {{"recurse(int)", "_Z7recursei", "/src/app.cpp", 20, false}}, 1},
    {{0x401041, 0, false}, {{EVIL, EVIL, "/src/e<vil>.cpp", 40, false}}, 1},
    {{0x7f0000001235, 1, false}, {{0}}, 0},
    {{0x1001, ID_NONE, false}, {{0}}, 0},
};

static const uint32_t path0[] = {3, 0, 1, 2}, path1[] = {4, 4, 4, 1, 2}, path2[] = {5, 1, 2},
                      path3[] = {6, 7}, path5[] = {0, 1, 2};
static const ProfileStack small_stacks[] = {
    {10, path0, 4, 0},
    {11, path1, 5, STACK_BY_FRAME_POINTER},
    {12, path2, 3, STACK_DEPTH_CUT},
    {13, path3, 2, STACK_ENDED_EARLY},
    {14, NULL, 0, STACK_LOST},
    {15, path5, 3, 0},
};
/*                                live B, live n, ever B, ever n, temp, overhead */
static const Values small_peak[] = {{{1000, 10, 2000, 20, 8, 100}}, {{300, 3, 300, 3, 0, 12}},
                                    {{200, 2, 400, 4, 2, 16}},      {{0, 0, 0, 0, 0, 0}},
                                    {{0, 0, 0, 0, 0, 0}},           {{0, 0, 0, 0, 0, 0}}};
static const Values small_end[] = {{{600, 6, 5000, 50, 20, 60}}, {{300, 3, 300, 3, 0, 12}},
                                   {{0, 0, 900, 9, 7, 0}},       {{100, 1, 100, 1, 0, 4}},
                                   {{24, 2, 24, 2, 0, 8}},       {{0, 0, 0, 0, 0, 0}}};

static struct {
    const FakeFrame *frames;
    size_t frame_count;
    const ProfileStack *stacks;
    size_t stack_count;
    const Values *peak, *end;
    ProfileSnapshot snapshots[2];
    Label *labels;
    size_t label_count;
    uint32_t **paths; /* label paths of stacks */
    size_t *depths;
    bool large; /* tables are ours to free */
} fake;

static uint32_t label_find(const SymbolFrame *s, const ProfileFrame *f)
{
    const char *module = f->module == ID_NONE ? "[unknown]" : modules[f->module].path;
    char name[64];
    snprintf(
        name, sizeof(name), "0x%llx (in %s)",
        (unsigned long long)(f->address - 1 - (f->module == ID_NONE ? 0 : modules[f->module].bias)),
        strrchr(module, '/') ? strrchr(module, '/') + 1 : module);
    const char *function = s ? s->function : name;
    for (size_t i = 0; !fake.large && i < fake.label_count; i++)
        if (strcmp(fake.labels[i].function, function) == 0)
            return (uint32_t)i;
    fake.labels = realloc(fake.labels, (fake.label_count + 1) * sizeof(Label));
    fake.labels[fake.label_count] = (Label){.function = strdup(function),
                                            .raw = s ? s->raw : NULL,
                                            .file = s ? s->file : NULL,
                                            .module = module,
                                            .module_index = f->module,
                                            .known = s != NULL};
    return (uint32_t)fake.label_count++;
}

static void labels_make(void)
{
    uint32_t(*of_frame)[2] = calloc(fake.frame_count + 1, sizeof(*of_frame));
    for (size_t i = 0; i < fake.frame_count; i++) {
        const FakeFrame *f = &fake.frames[i];
        for (int j = 0; j < (f->count ? f->count : 1); j++)
            of_frame[i][j] = label_find(f->count ? &f->symbols[j] : NULL, &f->frame);
    }
    fake.paths = calloc(fake.stack_count + 1, sizeof(*fake.paths));
    fake.depths = calloc(fake.stack_count + 1, sizeof(*fake.depths));
    for (size_t s = 0; s < fake.stack_count; s++) {
        const ProfileStack *stack = &fake.stacks[s];
        fake.paths[s] = calloc(stack->depth * 2 + 1, sizeof(uint32_t));
        for (size_t i = 0; i < stack->depth; i++)
            for (int j = 0; j < (fake.frames[stack->frames[i]].count == 2 ? 2 : 1); j++)
                fake.paths[s][fake.depths[s]++] = of_frame[stack->frames[i]][j];
    }
    free(of_frame);
}

static void snapshots_make(void)
{
    fake.snapshots[0] = (ProfileSnapshot){.time_ns = FAKE_PEAK_NS, .kind = 1, .rss_bytes = 8 << 20};
    fake.snapshots[1] = (ProfileSnapshot){.time_ns = FAKE_LAST_NS, .kind = 2, .rss_bytes = 4 << 20};
    for (size_t s = 0; s < fake.stack_count; s++)
        for (size_t m = 0; m < METRIC_MAX; m++) {
            fake.snapshots[0].total.v[m] += fake.peak[s].v[m];
            fake.snapshots[1].total.v[m] += fake.end[s].v[m];
        }
}

void fake_small(void)
{
    fake_done();
    fake.frames = small_frames;
    fake.frame_count = ARRAY_SIZE(small_frames);
    fake.stacks = small_stacks;
    fake.stack_count = ARRAY_SIZE(small_stacks);
    fake.peak = small_peak;
    fake.end = small_end;
    labels_make();
    snapshots_make();
}

void fake_empty(void)
{
    fake_done();
    fake.frames = small_frames;
    fake.frame_count = ARRAY_SIZE(small_frames);
    labels_make();
    snapshots_make();
}

void fake_large(unsigned stacks, unsigned depth)
{
    enum { FUNCTIONS = 1000 };
    fake_done();
    FakeFrame *frames = calloc(FUNCTIONS, sizeof(*frames));
    ProfileStack *all = calloc(stacks, sizeof(*all));
    Values *values = calloc(stacks, sizeof(*values));
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        char *name;
        if (asprintf(&name, "space::Function%u<std::map<int, long> >::call(char const*)", i) < 0)
            abort();
        frames[i] =
            (FakeFrame){{0x401000 + i * 4, i % 2, false}, {{name, name, "big.cpp", i, false}}, 1};
        frames[i].frame.address += modules[i % 2].bias - 0x400000;
    }
    for (unsigned s = 0; s < stacks; s++) {
        uint32_t *path = calloc(depth, sizeof(*path));
        for (unsigned d = 0; d < depth; d++) /* root end shared, leaf end different */
            path[d] = d == 0   ? s % FUNCTIONS
                      : d == 1 ? s / FUNCTIONS % FUNCTIONS
                               : d * 7 % FUNCTIONS;
        all[s] = (ProfileStack){s + 1, path, depth, 0};
        int64_t blocks = s == 2 ? 2 : 1; /* 3 bytes in two blocks: sizes differ */
        values[s] = (Values){{(int64_t)s + 1, blocks, (int64_t)s + 1, blocks, 0, 8}};
    }
    fake.frames = frames;
    fake.frame_count = FUNCTIONS;
    fake.stacks = all;
    fake.stack_count = stacks;
    fake.peak = fake.end = values;
    fake.large = true;
    labels_make();
    snapshots_make();
}

void fake_done(void)
{
    for (size_t i = 0; i < fake.label_count; i++)
        free((char *)fake.labels[i].function);
    for (size_t s = 0; s < fake.stack_count; s++) {
        free(fake.paths[s]);
        if (fake.large)
            free((void *)fake.stacks[s].frames);
    }
    free(fake.labels);
    free(fake.paths);
    free(fake.depths);
    if (fake.large) {
        for (size_t i = 0; i < fake.frame_count; i++)
            free((char *)fake.frames[i].symbols[0].function);
        free((void *)fake.frames);
        free((void *)fake.stacks);
        free((void *)fake.end);
    }
    memset(&fake, 0, sizeof(fake));
}

const Profile *fake_profile(void)
{
    return (const Profile *)&fake;
}

const Labels *fake_labels(void)
{
    return (const Labels *)&fake;
}

Symbolizer *fake_symbolizer(void)
{
    return (Symbolizer *)&fake;
}

void fake_view(ViewOptions options, View *ret_view)
{
    options.symbolizer = fake_symbolizer();
    if (view_build(fake_profile(), fake_labels(), &options, ret_view) != 0)
        abort();
}

/* ---- profile.h ------------------------------------------------------------------------------- */

static const char *const metric_names[METRIC_MAX] = {"live-bytes",  "live-count", "total-bytes",
                                                     "total-count", "temporary",  "overhead"};

const char *metric_name(Metric metric)
{
    return metric_names[metric];
}

int metric_find(const char *name, Metric *ret_metric)
{
    for (int m = 0; m < METRIC_MAX; m++)
        if (strcmp(name, metric_names[m]) == 0) {
            *ret_metric = (Metric)m;
            return 0;
        }
    return -EINVAL;
}

const ProfileProcess *profile_process(const Profile *profile)
{
    static const char *const arguments[] = {"/opt/app/prog", "--title", "two words"};
    static const ProfileProcess process = {.short_name = "prog",
                                           .full_path = "/opt/app/prog",
                                           .pid = 4711,
                                           .parent_pid = 4710,
                                           .start_ns = FAKE_START_NS,
                                           .format_version = 1,
                                           .writer = "memhawk test",
                                           .arguments = arguments,
                                           .argument_count = 3,
                                           .host_name = "box",
                                           .interval_ms = 1000,
                                           .unwind_mode = "cfi",
                                           .max_depth = 64};
    (void)profile;
    return &process;
}

size_t profile_module_count(const Profile *profile)
{
    (void)profile;
    return ARRAY_SIZE(modules);
}

const ProfileModule *profile_module(const Profile *profile, uint32_t index)
{
    (void)profile;
    return &modules[index];
}

size_t profile_frame_count(const Profile *profile)
{
    (void)profile;
    return fake.frame_count;
}

const ProfileFrame *profile_frame(const Profile *profile, uint32_t index)
{
    (void)profile;
    return &fake.frames[index].frame;
}

size_t profile_stack_count(const Profile *profile)
{
    (void)profile;
    return fake.stack_count;
}

const ProfileStack *profile_stack(const Profile *profile, uint32_t index)
{
    (void)profile;
    return &fake.stacks[index];
}

size_t profile_snapshot_count(const Profile *profile)
{
    (void)profile;
    return 2;
}

const ProfileSnapshot *profile_snapshot(const Profile *profile, size_t index)
{
    (void)profile;
    return &fake.snapshots[index];
}

int64_t profile_snapshot_at(const Profile *profile, uint64_t time_ns)
{
    (void)profile;
    return time_ns >= FAKE_LAST_NS ? 1 : time_ns >= FAKE_PEAK_NS ? 0 : -1;
}

const ProfileLosses *profile_losses(const Profile *profile)
{
    static const ProfileLosses losses = {.missed_frees = 1234, .depth_cut = 9};
    static const ProfileLosses none = {0};
    (void)profile;
    return fake.stack_count == ARRAY_SIZE(small_stacks) ? &losses : &none;
}

const ProfileError *profile_damage(const Profile *profile)
{
    (void)profile;
    return NULL;
}

bool profile_is_ended(const Profile *profile)
{
    (void)profile;
    return true;
}

EndReason profile_end(const Profile *profile, int *ret_status)
{
    (void)profile;
    *ret_status = 3;
    return END_EXIT;
}

const Values *profile_inherited(const Profile *profile)
{
    static const Values none = {0};
    (void)profile;
    return &none;
}

uint64_t profile_first_ns(const Profile *profile)
{
    (void)profile;
    return FAKE_START_NS;
}

uint64_t profile_last_ns(const Profile *profile)
{
    (void)profile;
    return FAKE_LAST_NS;
}

uint64_t profile_peak(const Profile *profile, uint64_t *ret_time_ns)
{
    (void)profile;
    *ret_time_ns = FAKE_PEAK_NS;
    return (uint64_t)fake.snapshots[0].total.v[METRIC_LIVE_BYTES];
}

int profile_peak_between(const Profile *profile, uint64_t from_ns, uint64_t to_ns,
                         uint64_t *ret_time_ns, uint64_t *ret_bytes)
{
    if (from_ns > FAKE_PEAK_NS || to_ns < FAKE_PEAK_NS)
        return -ENOENT;
    *ret_bytes = profile_peak(profile, ret_time_ns);
    return 0;
}

int profile_state(const Profile *profile, uint64_t time_ns, Values *ret_values)
{
    (void)profile;
    const Values *values = time_ns >= FAKE_LAST_NS   ? fake.end
                           : time_ns >= FAKE_PEAK_NS ? fake.peak
                                                     : NULL;
    for (size_t s = 0; s < fake.stack_count; s++)
        ret_values[s] = values ? values[s] : (Values){0};
    return 0;
}

int profile_between(const Profile *profile, uint64_t from_ns, uint64_t to_ns, Values *ret_added,
                    Values *ret_removed)
{
    Values *from = calloc(fake.stack_count + 1, sizeof(*from));
    profile_state(profile, from_ns, from);
    profile_state(profile, to_ns, ret_added);
    for (size_t s = 0; s < fake.stack_count; s++)
        for (size_t m = 0; m < METRIC_MAX; m++) {
            int64_t change = ret_added[s].v[m] - from[s].v[m];
            ret_added[s].v[m] = change > 0 ? change : 0;
            ret_removed[s].v[m] = change < 0 ? -change : 0;
        }
    free(from);
    return 0;
}

size_t profile_window_count(const Profile *profile)
{
    (void)profile;
    return 0;
}

const ProfileWindow *profile_window(const Profile *profile, size_t index)
{
    (void)profile, (void)index;
    return NULL;
}

const ProfileWindow *profile_window_find(const Profile *profile, const char *name)
{
    (void)profile, (void)name;
    return NULL;
}

/* ---- labels.h, symbol.h ---------------------------------------------------------------------- */

size_t labels_count(const Labels *labels)
{
    (void)labels;
    return fake.label_count;
}

const Label *labels_get(const Labels *labels, uint32_t label)
{
    (void)labels;
    return &fake.labels[label];
}

size_t labels_path(const Labels *labels, uint32_t stack, const uint32_t **ret_labels)
{
    (void)labels;
    *ret_labels = fake.paths[stack];
    return fake.depths[stack];
}

int symbol_resolve(Symbolizer *symbolizer, const Profile *profile, uint32_t frame,
                   const SymbolFrame **ret_frames)
{
    static const SymbolFrame unknown = {0};
    (void)symbolizer, (void)profile;
    const FakeFrame *f = &fake.frames[frame];
    *ret_frames = f->count ? f->symbols : &unknown;
    return f->count ? f->count : 1;
}
