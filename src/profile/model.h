// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "format/decode.h"
#include "format/read_ahead.h"
#include "format/reader_pool.h"
#include "format/record.h"
#include "profile/id_map.h"
#include "profile/module_map.h"
#include "profile/profile.h"
#include "profile/series.h"

/*
 * Inside of a Profile, shared by the files of src/profile/ and by its tests and fuzzer; nobody else
 * includes this.
 */

#define MODEL_MEMORY_MAX (UINT64_C(4) << 30)
#define DAMAGES_KEPT     16
#define AHEAD_LEAST      (UINT64_C(2) << 20)

typedef struct ModuleState {
    ProfileModule pub;
    uint64_t seen; /* when the file last told of it, in records' order: later wins an address */
} ModuleState;

typedef struct FrameState {
    ProfileFrame pub;
    bool defined;
} FrameState;

typedef struct StackState {
    ProfileStack pub;
    bool defined;
} StackState;

/* Series apart from the rest of their stacks, and each a cache line by itself: they are what most
 * of the work on a file waits for. */
enum { SERIES_PAGE = 16 };
typedef struct SeriesPage {
    Series series[SERIES_PAGE];
} SeriesPage;

typedef struct WindowState {
    ProfileWindow pub; /* pub.shapes is shapes.items */
    VECTOR(ProfileWindowShape) shapes;
    VECTOR(ProfileSpan) spans; /* pub.spans is spans.items */
    bool open;                 /* an iteration was open when the last span ended */
} WindowState;

struct Profile {
    MemoryBudget budget;
    Pool pool; /* all that lives as long as the profile */

    /* the file */
    char *path;
    int fd;
    dev_t device;
    ino_t inode;
    uint64_t offset; /* of the next record */
    bool stopped;    /* what follows cannot be read */
    bool ended;
    RecordReader *reader;
    Decoder *decoder;
    ReadAhead *ahead;     /* NULL: none at work */
    uint64_t ahead_least; /* bytes of the file that are left, for which there shall be one */
    ProfileError damages[DAMAGES_KEPT]; /* the first ones */
    size_t damage_count;                /* all */
    ProfileError tail; /* cut record at the end of a run that has ended; code 0: none */

    /* what it says */
    ProfileProcess process;
    ProfileLosses losses;
    Values inherited;
    uint32_t end_reason;
    int end_status;
    VECTOR(ModuleState) modules;
    VECTOR(FrameState) frames;
    VECTOR(StackState) stacks;
    VECTOR(SeriesPage *) series_pages; /* of the pool, aligned; see model_series() */
    VECTOR(ProfileSnapshot) snapshots;
    VECTOR(ProfileMark) marks;
    VECTOR(WindowState) windows;
    IdMap module_ids, module_keys, frame_ids, stack_ids, window_ids, shape_ids;
    ModuleMap module_map; /* modules without an id only */
    uint64_t modules_seen;
    size_t undefined_frames, undefined_stacks;

    Values sum;                        /* over all stacks, now */
    uint64_t peak_bytes, peak_time_ns; /* as the recorder saw it */
    size_t peak_snapshot;              /* index of the highest snapshot */
};

/* An empty model without a file, for tests and fuzzing; profile_close() ends it. */
int model_new(uint64_t memory_max_bytes, Profile **ret_profile);

/*
 * Takes over one record. OFFSET, where it begins, is for damage notes. -ENOMEM: over budget, and
 * the record is in by parts; no other failures: what makes no sense is left out and noted.
 */
int model_put_process(Profile *profile, const DecodedProcess *from, uint64_t offset);
int model_put_snapshot(Profile *profile, const DecodedSnapshot *from, uint64_t offset);
int model_put_modules(Profile *profile, const DecodedSnapshot *snapshot, uint64_t offset);
int model_put_windows(Profile *profile, const DecodedSnapshot *snapshot, uint64_t offset);

/* Module of a frame in a file that does not name it, by address. */
uint32_t model_module_at(const Profile *profile, uint64_t address, bool exact);
static inline Series *model_series(const Profile *profile, uint32_t stack)
{
    return &profile->series_pages.items[stack / SERIES_PAGE]->series[stack % SERIES_PAGE];
}

/* Index of the stack with that id; makes an undefined one where there is none. */
int model_stack(Profile *profile, uint32_t trace_id, uint32_t *ret_stack);

/* Notes something wrong with the file: the first ones are kept, all are counted. */
__attribute__((format(printf, 4, 5))) void model_damage(Profile *profile, int code, uint64_t offset,
                                                        const char *format, ...);
