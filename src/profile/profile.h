// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The model of one profile file: every reader (report, info, view, push, diff, check) goes through
 * here and none reads the file itself. It replays records, keeps a compact time series per stack,
 * and follows a file that still grows. It knows addresses and modules but no names: names are
 * joined in by symbol/ (see symbol/labels.h).
 *
 * Times are ns on the wall clock (CLOCK_REALTIME epoch); TIME_FIRST and TIME_LAST mean the ends of
 * the run. Sizes are bytes. A Profile is used by one thread at a time. Functions return 0 or a
 * count on success, a negative errno on failure, and then fill *ret_error where one is taken.
 */

typedef enum Metric {
    METRIC_LIVE_BYTES,
    METRIC_LIVE_COUNT,
    METRIC_TOTAL_BYTES,
    METRIC_TOTAL_COUNT,
    METRIC_TEMPORARY,
    METRIC_OVERHEAD,
    METRIC_MAX,
} Metric;

/* "live-bytes", "live-count", "total-bytes", "total-count", "temporary", "overhead". */
const char *metric_name(Metric metric);
/* -EINVAL when the name is unknown. */
int metric_find(const char *name, Metric *ret_metric);

typedef struct Values {
    int64_t v[METRIC_MAX];
} Values;

#define TIME_FIRST UINT64_C(0)
#define TIME_LAST  UINT64_MAX
#define ID_NONE    UINT32_MAX

typedef struct Profile Profile;

typedef struct ProfileError {
    int code;        /* negative errno */
    uint64_t offset; /* byte offset in the file */
    char message[256];
} ProfileError;

/* ---- opening and following ------------------------------------------------------------------ */

/*
 * Opens PATH and reads all complete records. A good part followed by a cut or broken rest is a
 * success: profile_damage() then tells what and where. Fails when not even ProcessInfo is readable.
 */
int profile_open(const char *path, Profile **ret_profile, ProfileError *ret_error);
void profile_close(Profile *profile);
/* Opens PATH and reads only the first record, so that it returns at once also for a large file; the
 * rest comes by profile_advance() or profile_advance_for(). */
int profile_open_first(const char *path, Profile **ret_profile, ProfileError *ret_error);

/*
 * Reads records that were appended since; returns how many, 0 when there is nothing new. Only whole
 * records are taken. -ESTALE: the file became shorter, or the path now means another file; the
 * model stays as it was. Pointers that functions below returned are void after an advance that took
 * records.
 */
int profile_advance(Profile *profile, ProfileError *ret_error);
/* The same, but stops after the record during which MOST_NS are over. *ret_left_bytes: how much of
 * the file is left then; 0: nothing that is whole. */
int profile_advance_for(Profile *profile, uint64_t most_ns, uint64_t *ret_left_bytes,
                        ProfileError *ret_error);

/* NULL when the file ends at a record boundary and all of it was understood. A record cut at the
 * very end of a run that has not ended is not damage (profile_is_ended() is false then). */
const ProfileError *profile_damage(const Profile *profile);
/* How many things were wrong. profile_damage() tells the first, profile_damage_at() each of the
 * first 16, in the order in which they were met; NULL beyond. */
const ProfileError *profile_damage_at(const Profile *profile, size_t index);
size_t profile_damage_count(const Profile *profile);

const char *profile_path(const Profile *profile);
/* A descriptor of the very file that was opened, whatever its path has now, with a position of its
 * own; -errno. */
int profile_reopen(const Profile *profile);
uint64_t profile_file_bytes(const Profile *profile);   /* read so far */
uint64_t profile_memory_bytes(const Profile *profile); /* memory that the model takes */
bool profile_is_ended(const Profile *profile);         /* an end-of-run record was seen */

/* ---- what it is about ----------------------------------------------------------------------- */

typedef struct ProfileProcess {
    const char *short_name;
    const char *full_path;
    uint32_t pid;
    uint32_t parent_pid;
    uint64_t start_ns;
    uint32_t format_version; /* 0: file of the original MemHawk */
    const char *writer;
    const char *const *arguments;
    size_t argument_count;
    const char *host_name;
    uint32_t interval_ms;
    const char *unwind_mode;
    uint32_t max_depth;
    bool forked;
    const char *allocator;
    const char *warning; /* NULL: none */
} ProfileProcess;

typedef struct ProfileModule {
    uint32_t module_id; /* as in the file; files of the original: numbered by us */
    const char *path;   /* as the profiled process saw it; "[vdso]" for the vDSO */
    uint64_t bias;      /* runtime address = file address + bias */
    const struct ProfileSegment {
        uint64_t addr; /* file address (p_vaddr) */
        uint64_t size;
    } * segments;
    size_t segment_count;
    const uint8_t *build_id; /* may be NULL */
    size_t build_id_size;
    uint64_t load_ns;
    uint64_t unload_ns; /* 0: not unloaded */
    bool deleted;
} ProfileModule;

typedef struct ProfileFrame {
    uint64_t address; /* runtime return address, or exact address if `exact` */
    uint32_t module;  /* index for profile_module(), ID_NONE: in no module */
    bool exact;
} ProfileFrame;

typedef enum StackFlag {
    STACK_DEPTH_CUT = 1,
    STACK_ENDED_EARLY = 2,
    STACK_BY_FRAME_POINTER = 4,
    STACK_THROUGH_SIGNAL = 8,
    STACK_LOST = 16,
} StackFlag;

typedef struct ProfileStack {
    uint32_t trace_id; /* as in the file */
    /* depth is 0 where a damaged file never says what the stack is */
    const uint32_t *frames; /* indexes for profile_frame(), leaf first */
    size_t depth;
    uint32_t flags; /* StackFlag */
} ProfileStack;

typedef struct ProfileSnapshot {
    uint64_t time_ns;
    uint32_t kind; /* 0 tick, 1 peak, 2 last, 3 asked for */
    Values total;
    uint64_t rss_bytes; /* 0: not known */
    uint64_t own_bytes;
    uint32_t threads;
} ProfileSnapshot;

typedef struct ProfileLosses {
    uint64_t stack_table_full, live_map_full, missed_frees, write_failed, reentrant_skipped,
        depth_cut, unwind_ended, windows_dropped;
} ProfileLosses;

typedef enum EndReason {
    END_UNKNOWN = 0, /* still running, or killed */
    END_EXIT,
    END_UNDERSCORE_EXIT,
    END_QUICK_EXIT,
    END_EXEC,
    END_SIGNAL,
    END_ABORT,
} EndReason;

const ProfileProcess *profile_process(const Profile *profile);
size_t profile_module_count(const Profile *profile);
const ProfileModule *profile_module(const Profile *profile, uint32_t index);
size_t profile_frame_count(const Profile *profile);
const ProfileFrame *profile_frame(const Profile *profile, uint32_t index);
size_t profile_stack_count(const Profile *profile);
const ProfileStack *profile_stack(const Profile *profile, uint32_t index);
size_t profile_snapshot_count(const Profile *profile);
const ProfileSnapshot *profile_snapshot(const Profile *profile, size_t index);
const ProfileLosses *profile_losses(const Profile *profile);
EndReason profile_end(const Profile *profile, int *ret_status);
/* Live blocks taken over from the parent at fork (part of the live figures). */
const Values *profile_inherited(const Profile *profile);

/* ---- questions ------------------------------------------------------------------------------ */

uint64_t profile_first_ns(const Profile *profile); /* process start */
uint64_t profile_last_ns(const Profile *profile);  /* last snapshot */

/* Index of the last snapshot at or before TIME, -1 when there is none. Times rise strictly. */
int64_t profile_snapshot_at(const Profile *profile, uint64_t time_ns);

/* Highest sum of live bytes over the run as the recorder saw it (peakBytes; for foreign files the
 * highest snapshot). 0 without any snapshot. *ret_time_ns is the time of the snapshot that holds
 * the peak's composition: profile_state() there gives it. profile_peak_recorded_ns() is the
 * recorder's own time of the peak; when the peak fell on a tick it may be some milliseconds
 * earlier. */
uint64_t profile_peak_recorded_ns(const Profile *profile);
uint64_t profile_peak(const Profile *profile, uint64_t *ret_time_ns);
/* Highest *snapshot* with from <= time <= to: its composition is profile_state() at *ret_time_ns.
 * -ENOENT when there is none inside. */
int profile_peak_between(const Profile *profile, uint64_t from_ns, uint64_t to_ns,
                         uint64_t *ret_time_ns, uint64_t *ret_bytes);

/* Fills ret_values[profile_stack_count()] with the state at the last snapshot at or before TIME. */
int profile_state(const Profile *profile, uint64_t time_ns, Values *ret_values);
/* The same for one stack. */
void profile_stack_state(const Profile *profile, uint32_t stack, uint64_t time_ns,
                         Values *ret_values);

/*
 * What changed between the states at FROM and TO, per stack: METRIC_LIVE_BYTES, LIVE_COUNT and
 * OVERHEAD: ret_added gets growth, ret_removed gets shrinkage (both >= 0; one of them is 0).
 * Cumulative metrics: ret_added gets what was added inside, ret_removed 0. Either may be NULL.
 */
int profile_between(const Profile *profile, uint64_t from_ns, uint64_t to_ns, Values *ret_added,
                    Values *ret_removed);

/* The same for one stack whose values are known; either result may be NULL. */
void profile_split(const Values *before, const Values *after, Values *ret_added,
                   Values *ret_removed);

/*
 * Series of one group of stacks: the sum over all stacks for which groups[stack] == group, at each
 * snapshot between FROM and TO (groups NULL: over all stacks). Serves "a function or line, self or
 * subtree": the caller decides which stacks belong (symbol/labels.h does for labels). Writes at
 * most `capacity` points, returns how many there are.
 */
typedef struct SeriesPoint {
    uint64_t time_ns;
    int64_t value;
} SeriesPoint;
int profile_series(const Profile *profile, Metric metric, const uint32_t *groups, uint32_t group,
                   uint64_t from_ns, uint64_t to_ns, SeriesPoint *ret_points, size_t capacity);

/*
 * The changes of one metric of one stack at snapshots first..last (indexes), oldest first, at most
 * one for each snapshot; returns how many. They lie in ROOM, which has last - first + 1 places.
 * *ret_before: the value just before `first`.
 */
typedef struct ProfileChange {
    uint32_t snapshot;
    int64_t delta;
} ProfileChange;
size_t profile_stack_changes(const Profile *profile, uint32_t stack, Metric metric, uint32_t first,
                             uint32_t last, ProfileChange *room, const ProfileChange **ret_changes,
                             int64_t *ret_before);

/* Sum of values[profile_stack_count()]. */
void profile_sum(const Profile *profile, const Values *values, Values *ret_sum);
/* Indexes of the stacks with the largest values[stack].v[metric], largest first, equal ones in
 * order of their index, zeros left out. Writes at most CAPACITY, returns how many are not zero. */
int profile_top(const Profile *profile, const Values *values, Metric metric, uint32_t *ret_stacks,
                size_t capacity);

/* ---- marks and measurement windows ---------------------------------------------------------- */

typedef struct ProfileMark {
    uint64_t time_ns;
    const char *text;
    uint32_t thread_id;
} ProfileMark;
size_t profile_mark_count(const Profile *profile);
const ProfileMark *profile_mark(const Profile *profile, size_t index);

typedef struct WindowValues {
    uint64_t allocations, bytes, frees, freed_bytes, temporary;
} WindowValues;

typedef struct WindowShapeRow {
    uint32_t stack; /* index for profile_stack() */
    WindowValues values;
} WindowShapeRow;

/* All iterations with the same rows are one shape. */
typedef struct ProfileWindowShape {
    const WindowShapeRow *rows;
    size_t row_count;
    uint64_t iterations;
    uint64_t duration_ns; /* sum over iterations */
    uint64_t max_peak_bytes, min_peak_bytes;
} ProfileWindowShape;

typedef struct ProfileSpan {
    uint64_t from_ns, to_ns;
} ProfileSpan;

typedef struct ProfileWindow {
    const char *name;
    bool process_scope;
    const ProfileWindowShape *shapes;
    size_t shape_count;
    uint64_t iterations; /* completed: sum over shapes */
    uint64_t begun;      /* > iterations: that many were open at the last snapshot (unfinished) */
    /* When it was at work, as exact as snapshots tell: each span begins and ends at one (or at the
     * start of the run). They rise and do not touch; when there would be more than 1,024, the last
     * one takes in what follows. */
    const ProfileSpan *spans;
    size_t span_count;
} ProfileWindow;
size_t profile_window_count(const Profile *profile);
const ProfileWindow *profile_window(const Profile *profile, size_t index);
/* What its title says of the scope: " (thread)" or " (process)". */
static inline const char *profile_scope_words(const ProfileWindow *window)
{
    return window->process_scope ? " (process)" : " (thread)";
}
/* The window's name; where a window of the other scope has it too, "NAME (thread)" or "NAME
 * (process)". To be freed; NULL: no memory. A pass over all windows. */
char *profile_window_title(const Profile *profile, const ProfileWindow *window);
/* The titles of all windows, by index, for the price of a sort; NULL: no memory. The profile must
 * not advance before they are freed. */
char **profile_window_titles(const Profile *profile);
void profile_window_titles_free(const Profile *profile, char **titles);
/* By name or title; NULL when there is none. Of two windows of that name the first. */
const ProfileWindow *profile_window_find(const Profile *profile, const char *text);
