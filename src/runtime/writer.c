// SPDX-License-Identifier: Apache-2.0
/*
 * Records: what changed since the last one, with the definitions it needs.
 *
 * Under drain_lock the counters are summed and encoded into one buffer (and, when a peak was
 * captured since, into a record of its own before it). Compression and writing happen without the
 * lock. Each record is one zstd frame with checksum, written by one write(2).
 *
 * Return addresses get small ids at their first use; the table from address to id is ours alone.
 */
#include "runtime/writer.h"

#include <fcntl.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

#include "base/bits.h"
#include "base/sys.h"
#include "format/wire.h"
#include "runtime/arena.h"
#include "runtime/drain.h"
#include "runtime/livemap.h"
#include "runtime/log.h"
#include "runtime/output.h"
#include "runtime/recording.h"
#include "runtime/runtime.h"
#include "runtime/thread.h"
#include "runtime/windows.h"
#include "unwind/unwind.h"

enum {
    COMPRESSION_LEVEL = 3,
    RECORD_HEADER = 8,
    FIRST_FRAMES = 4096,
    FAST_LEVEL = 1,
    FAST_RECORD = 64 << 10, /* above it the fast level gives records of the same size */
    LARGE_RECORD = 1 << 20,
    FIRST_BUFFER = 256 << 10
};

typedef struct FrameIds {
    struct FrameId {
        FrameWord word; /* 0: free */
        uint32_t id;
    } * cells;
    size_t mask;
    uint32_t count;
} FrameIds;

static char folder[4096], short_name[80];
static int file = -1, statm = -1, thread_status = -1, process_status = -1, process_stat = -1;
static bool shared_descriptors, complained;
static FrameIds frame_ids;
static uint32_t *module_states; /* by module index: 0 not written, 1 loaded, 2 unloaded */
static size_t module_states_capacity;
static uint64_t last_timestamp;
static Sums inherited;
static bool inherited_pending;
static WireBuffer body = {.grow = drain_grow}, definitions = {.grow = drain_grow},
                  compressed = {.grow = drain_grow};
static ZSTD_CCtx *compressor;

void writer_prepare(const char *to_folder, const char *name)
{
    size_t length = strlen(to_folder);
    if (length >= sizeof(folder))
        length = sizeof(folder) - 1;
    memcpy(folder, to_folder, length);
    folder[length] = 0;
    output_clean_name(name, short_name, sizeof(short_name));
}

void writer_shares_descriptors(bool shared)
{
    shared_descriptors = shared;
}

/* ---- records --------------------------------------------------------------------------------- */

static bool compressor_make(void)
{
    if (compressor)
        return true;
    size_t bytes = ZSTD_estimateCCtxSize(COMPRESSION_LEVEL);
    void *space = arena_map(ARENA_OUTPUT, bytes);
    compressor = space ? ZSTD_initStaticCCtx(space, bytes) : NULL;
    if (!compressor)
        return false;
    ZSTD_CCtx_setParameter(compressor, ZSTD_c_checksumFlag, 1);
    return true;
}

static int write_compressed(const WireBuffer *from)
{
    size_t bound = ZSTD_compressBound(from->bytes);
    compressed.bytes = 0;
    if (!compressor_make() || !wire_reserve(&compressed, RECORD_HEADER + bound))
        return -12; /* ENOMEM */
    ZSTD_CCtx_setParameter(compressor, ZSTD_c_compressionLevel,
                           from->bytes > FAST_RECORD ? FAST_LEVEL : COMPRESSION_LEVEL);
    size_t bytes =
        ZSTD_compress2(compressor, compressed.data + RECORD_HEADER, bound, from->data, from->bytes);
    if (ZSTD_isError(bytes))
        return -12;
    store_be64(compressed.data, bytes);
    if (shared_descriptors && !output_is_ours(file))
        return -9; /* EBADF: the program closed or reused it */
    return output_append(file, compressed.data, RECORD_HEADER + bytes);
}

static void write_record(const WireBuffer *from)
{
    int ret = from->failed ? -12 : write_compressed(from);
    compressed.failed = false;
    if (ret == 0)
        return;
    atomic_fetch_add(&runtime.loss_write, from->bytes);
    if (!complained && runtime.config.log >= CONFIG_LOG_ERROR)
        log_line("the profile in ", folder, " cannot be written; going on without");
    complained = true;
}

/* ---- definitions ----------------------------------------------------------------------------- */

static bool frames_grow(void)
{
    size_t cells = frame_ids.cells ? (frame_ids.mask + 1) * 2 : FIRST_FRAMES;
    struct FrameId *fresh = arena_map(ARENA_OUTPUT, cells * sizeof(*fresh));
    if (!fresh)
        return false;
    for (size_t i = 0; frame_ids.cells && i <= frame_ids.mask; i++) {
        if (!frame_ids.cells[i].word)
            continue;
        size_t at = hash_mix(0, frame_ids.cells[i].word) & (cells - 1);
        while (fresh[at].word)
            at = (at + 1) & (cells - 1);
        fresh[at] = frame_ids.cells[i];
    }
    if (frame_ids.cells)
        arena_unmap(ARENA_OUTPUT, frame_ids.cells, (frame_ids.mask + 1) * sizeof(*fresh));
    frame_ids.cells = fresh;
    frame_ids.mask = cells - 1;
    return true;
}

static void define_frame(FrameWord word, uint32_t id)
{
    const UnwindModule *module = unwind_module_find(word & ~FRAME_EXACT);
    size_t at = wire_begin(&definitions, 3);
    wire_uint(&definitions, 1, id);
    wire_uint(&definitions, 2, FRAME_ADDRESS(word));
    wire_uint(&definitions, 100, module ? module->module_id : 0);
    wire_uint(&definitions, 101, word & FRAME_EXACT ? 1 : 0);
    wire_end(&definitions, at);
}

/* 0: no memory. */
static uint32_t frame_id(FrameWord word)
{
    if ((!frame_ids.cells || frame_ids.count * 3 >= frame_ids.mask * 2) && !frames_grow() &&
        (!frame_ids.cells || frame_ids.count >= frame_ids.mask))
        return 0;
    size_t at = hash_mix(0, word) & frame_ids.mask;
    while (frame_ids.cells[at].word && frame_ids.cells[at].word != word)
        at = (at + 1) & frame_ids.mask;
    if (!frame_ids.cells[at].word) {
        frame_ids.cells[at].word = word;
        frame_ids.cells[at].id = ++frame_ids.count;
        define_frame(word, frame_ids.count);
    }
    return frame_ids.cells[at].id;
}

void writer_define_stack(uint32_t id)
{
    Stack *stack = stacks_get(id);
    if (stack->defined)
        return;
    stack->defined = 1;
    FrameWord frames[UNWIND_MAX_DEPTH];
    uint32_t ids[UNWIND_MAX_DEPTH];
    stacks_frames(stack, frames);
    unsigned depth = 0;
    for (unsigned i = 0; i < stack->depth; i++) {
        ids[depth] = frame_id(frames[i]);
        depth += ids[depth] != 0; /* no memory for an id: the frame is left out, and that is said */
    }
    size_t at = wire_begin(&definitions, 4);
    wire_uint(&definitions, 1, id);
    size_t list = wire_begin(&definitions, 2);
    if (wire_reserve(&definitions, depth * 10)) {
        uint8_t *into = definitions.data + definitions.bytes;
        for (unsigned i = 0; i < depth; i++)
            into = wire_put_varint(into, ids[i]);
        definitions.bytes = (size_t)(into - definitions.data);
    }
    wire_end(&definitions, list);
    wire_uint(&definitions, 100, stack->flags | (depth < stack->depth ? UNWIND_ENDED_EARLY : 0u));
    wire_end(&definitions, at);
}

static void define_module(const UnwindModule *module)
{
    size_t at = wire_begin(&definitions, 5);
    wire_string(&definitions, 1, module->path);
    wire_uint(&definitions, 2, module->bias);
    for (uint32_t i = 0; i < module->segment_count; i++) {
        size_t segment = wire_begin(&definitions, 3);
        wire_uint(&definitions, 1, module->segments[i].addr);
        wire_uint(&definitions, 2, module->segments[i].size);
        wire_end(&definitions, segment);
    }
    wire_uint(&definitions, 100, module->module_id);
    wire_bytes(&definitions, 101, module->build_id, module->build_id_bytes);
    wire_uint(&definitions, 102, module->load_ns);
    wire_uint(&definitions, 103, __atomic_load_n(&module->unload_ns, __ATOMIC_ACQUIRE));
    wire_uint(&definitions, 104, module->inode);
    wire_uint(&definitions, 105, module->device);
    wire_uint(&definitions, 106, module->deleted);
    wire_end(&definitions, at);
}

static bool module_states_room(size_t count)
{
    if (count <= module_states_capacity)
        return true;
    size_t capacity = module_states_capacity ? module_states_capacity * 2 : 1024;
    while (capacity < count)
        capacity *= 2;
    uint8_t *fresh =
        drain_grow((uint8_t *)module_states, module_states_capacity * sizeof(uint32_t),
                   module_states_capacity * sizeof(uint32_t), capacity * sizeof(uint32_t));
    if (!fresh)
        return false;
    module_states = (uint32_t *)fresh;
    module_states_capacity = capacity;
    return true;
}

static void define_modules(void)
{
    size_t count = unwind_module_count();
    if (!module_states_room(count))
        return;
    for (size_t i = 0; i < count; i++) {
        const UnwindModule *module = unwind_module(i);
        uint32_t state = __atomic_load_n(&module->unload_ns, __ATOMIC_ACQUIRE) ? 2 : 1;
        if (module_states[i] == state)
            continue;
        module_states[i] = state;
        define_module(module);
    }
}

/* ---- snapshots ------------------------------------------------------------------------------- */

/* Reads a file below /proc from its start; the descriptor is kept. 0: not readable. Only calls that
 * any sandbox allows which lets its program run, once it is open. */
static size_t read_proc(int *fd, const char *path, char *into, size_t capacity)
{
    if (shared_descriptors)
        return 0;
    if (*fd < 0)
        *fd = (int)sys_call(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (*fd < 0 || sys_call(SYS_lseek, *fd, 0, SEEK_SET) < 0)
        return 0;
    long got = sys_call(SYS_read, *fd, into, capacity - 1);
    into[got > 0 ? got : 0] = 0;
    return got > 0 ? (size_t)got : 0;
}

static uint64_t read_rss(void)
{
    char text[128];
    uint64_t pages = 0;
    if (!read_proc(&statm, "/proc/self/statm", text, sizeof(text)))
        return 0;
    const char *at = strchr(text, ' ');
    for (at = at ? at + 1 : ""; *at >= '0' && *at <= '9'; at++)
        pages = pages * 10 + (uint64_t)(*at - '0');
    return pages * 4096;
}

/* The line NAME of the collector thread's own status; NULL: cannot be read. */
static const char *own_status(const char *name, char *text, size_t capacity)
{
    if (!read_proc(&thread_status, "/proc/thread-self/status", text, capacity))
        return NULL;
    const char *at = strstr(text, name);
    return at ? at + strlen(name) : NULL;
}

/* Whether system calls of the collector are filtered: then it keeps to the plainest ones. */
static bool sandboxed(void)
{
    char text[4096];
    const char *value = own_status("\nSeccomp:\t", text, sizeof(text));
    return !value || *value != '0';
}

bool writer_is_alone(int *ret_exit_code)
{
    char text[4096];
    if (!read_proc(&process_status, "/proc/self/status", text, sizeof(text)) ||
        !strstr(text, "\nState:\tZ") || !strstr(text, "\nThreads:\t2\n"))
        return false;
    size_t bytes = read_proc(&process_stat, "/proc/self/stat", text, sizeof(text));
    /* The last field: the main thread's status as wait(2) would have it. */
    const char *field = bytes ? strrchr(text, ' ') : NULL;
    int status = 0;
    for (field = field ? field + 1 : ""; *field >= '0' && *field <= '9'; field++)
        status = status * 10 + (*field - '0');
    *ret_exit_code = status >> 8 & 0xff;
    return true;
}

/* The map's share is counted page by page: now and then is enough. */
static uint64_t livemap_bytes(bool last)
{
    static uint64_t bytes, calls;
    if ((last || calls++ % 16 == 0) && !sandboxed())
        bytes = livemap_resident_bytes(&runtime.heap);
    return bytes;
}

static void encode_losses(WireBuffer *into)
{
    const Stack *losses = stacks_get(STACK_LOSSES);
    size_t at = wire_begin(into, 104);
    wire_uint(into, 1, losses->last.alloc_count);
    wire_uint(into, 2, atomic_load(&runtime.loss_live_map));
    wire_uint(into, 3, atomic_load(&runtime.loss_missed_frees));
    wire_uint(into, 4, atomic_load(&runtime.loss_write));
    wire_uint(into, 5, atomic_load(&runtime.loss_reentrant));
    wire_uint(into, 6, drain_state.depth_cut);
    wire_uint(into, 7, drain_state.unwind_ended);
    wire_uint(into, 8, atomic_load(&runtime.loss_windows));
    wire_end(into, at);
}

static void append(WireBuffer *into, const WireBuffer *from)
{
    if (from->failed || !wire_reserve(into, from->bytes)) {
        into->failed = true;
        return;
    }
    memcpy(into->data + into->bytes, from->data, from->bytes);
    into->bytes += from->bytes;
}

static uint64_t next_timestamp(uint64_t wanted)
{
    if (wanted <= last_timestamp)
        wanted = last_timestamp + 1;
    return last_timestamp = wanted;
}

static void encode_head(SnapshotKind kind, uint64_t timestamp, const Sums *total,
                        int64_t peak_bytes, uint64_t peak_ns)
{
    body.bytes = 0;
    body.failed = false;
    wire_uint(&body, 1, timestamp);
    encode_sums(&body, 7, total);
    wire_uint(&body, 100, kind);
    wire_uint(&body, 102, (uint64_t)peak_bytes);
    wire_uint(&body, 103, peak_ns);
    encode_losses(&body);
}

static void make_definitions(void)
{
    definitions.bytes = 0;
    definitions.failed = false;
    for (uint32_t i = 0; i < drain_state.changed_count; i++)
        writer_define_stack(drain_state.changed[i]);
    define_modules();
}

static void write_peak(void)
{
    uint64_t timestamp = next_timestamp(drain_state.peak_ns);
    atomic_store(&runtime.peak_ns, timestamp);
    encode_head(SNAPSHOT_PEAK, timestamp, &drain_state.peak_total, drain_state.peak_bytes,
                timestamp);
    append(&body, &definitions);
    append(&body, &drain_state.peak);
    definitions.bytes = 0;
    write_record(&body);
}

static void encode_rest(EndReason reason, int status)
{
    wire_uint(&body, 101, read_rss());
    wire_uint(&body, 106, arena_bytes() + livemap_bytes(reason != END_NONE));
    wire_uint(&body, 107, thread_reap(runtime.pid));
    windows_encode(&body);
    append(&body, &definitions);
    drain_encode_changed(&body);
    if (inherited_pending)
        encode_sums(&body, 112, &inherited);
    inherited_pending = false;
    if (reason == END_NONE)
        return;
    size_t at = wire_begin(&body, 105);
    wire_uint(&body, 1, reason);
    wire_uint(&body, 2, (uint64_t)(int64_t)status);
    wire_end(&body, at);
}

/* A large snapshot (the first of a big program) does not keep its memory. */
static void shrink(WireBuffer *buffer)
{
    if (buffer->capacity <= LARGE_RECORD)
        return;
    arena_unmap(ARENA_OUTPUT, buffer->data, buffer->capacity);
    *buffer = (WireBuffer){.grow = drain_grow};
    wire_reserve(buffer, FIRST_BUFFER);
}

/* What was just summed will be in the file: no capture of less is needed. */
static void peak_is_now(void)
{
    int64_t live = drain_live_bytes();
    if (live > atomic_load(&runtime.peak_bytes)) {
        atomic_store(&runtime.peak_bytes, live);
        atomic_store(&runtime.peak_ns, runtime_now_ns());
    }
    if (live > atomic_load(&runtime.captured_bytes))
        drain_kept(live);
}

void writer_snapshot(SnapshotKind kind, EndReason reason, int status)
{
    if (file < 0)
        return;
    uint32_t tid = sys_gettid();
    /* A thread that a fatal signal stopped amid the lock waits for us: not for ever. */
    if (!lock_take(&drain_lock, tid, 1000000000))
        return;
    if (kind == SNAPSHOT_LAST)
        drain_sweep();
    else
        drain_run();
    peak_is_now();
    make_definitions();
    if (drain_state.peak_valid)
        write_peak();
    encode_head(kind, next_timestamp(runtime_now_ns()), &drain_state.total,
                atomic_load(&runtime.peak_bytes), atomic_load(&runtime.peak_ns));
    encode_rest(reason, status);
    drain_written();
    lock_release(&drain_lock);
    write_record(&body);
    shrink(&body);
    shrink(&definitions);
    shrink(&compressed);
}

/* ---- the first record ------------------------------------------------------------------------ */

static void encode_argument(WireBuffer *into, const char *text, size_t length, const char *tail)
{
    size_t tail_length = strlen(tail);
    wire_varint(into, 102 << 3 | 2); /* written out: an argument may be empty */
    wire_varint(into, length + tail_length);
    if (!wire_reserve(into, length + tail_length))
        return;
    memcpy(into->data + into->bytes, text, length);
    memcpy(into->data + into->bytes + length, tail, tail_length);
    into->bytes += length + tail_length;
}

/* The first 4 KiB; an ellipsis stands for what follows. */
static void encode_arguments(WireBuffer *into)
{
    static const char ellipsis[] = "\xe2\x80\xa6";
    char text[4096 + 1];
    long fd = sys_call(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    long got = fd < 0 ? fd : sys_read_all((int)fd, text, sizeof(text));
    if (fd >= 0)
        sys_call(SYS_close, fd);
    bool longer = got == (long)sizeof(text), cut_inside = false;
    if (longer)
        got--;
    for (long from = 0; from < got;) {
        const char *zero = memchr(text + from, 0, (size_t)(got - from));
        size_t length = zero ? (size_t)(zero - text - from) : (size_t)(got - from);
        cut_inside = longer && !zero;
        encode_argument(into, text + from, length, cut_inside ? ellipsis : "");
        from += (long)length + 1;
    }
    if (longer && !cut_inside)
        encode_argument(into, "", 0, ellipsis);
}

static void encode_process(WireBuffer *into)
{
    static const char *const modes[] = {"cfi", "fp", "none"};
    char path[4096];
    struct utsname host;
    long length = sys_call(SYS_readlink, "/proc/self/exe", path, sizeof(path));
    wire_string(into, 1, short_name);
    wire_bytes(into, 2, path, length > 0 ? (size_t)length : 0);
    wire_uint(into, 3, runtime.pid);
    wire_uint(into, 4, runtime.start_wall_ns);
    wire_uint(into, 100, 1);
    wire_string(into, 101, "memhawk " MEMHAWK_VERSION);
    encode_arguments(into);
    wire_uint(into, 103, (uint64_t)sys_call(SYS_getppid));
    if (sys_call(SYS_uname, &host) == 0)
        wire_string(into, 104, host.nodename);
    wire_uint(into, 105, runtime.config.interval_ms);
    wire_string(into, 106, modes[runtime.config.unwind]);
    wire_uint(into, 107, runtime.config.depth);
    wire_uint(into, 108, inherited_pending);
    const UnwindModule *allocator = unwind_module_find((FrameWord)runtime.allocator);
    if (allocator)
        wire_string(into, 109, allocator->path);
    if (runtime.warning)
        wire_string(into, 110, runtime.warning);
    wire_uint(into, 111, UINT64_C(1) << runtime.heap.shift);
}

/* What an ordinary snapshot needs is had now: the program may use up all memory later. */
static void reserve_memory(void)
{
    wire_reserve(&definitions, FIRST_BUFFER);
    wire_reserve(&body, FIRST_BUFFER);
    wire_reserve(&compressed, FIRST_BUFFER);
    module_states_room(1);
    compressor_make();
    frames_grow();
    drain_reserve();
}

int writer_open(const Sums *taken_over)
{
    file = output_create(folder, short_name, runtime.pid);
    if (file < 0)
        return file;
    if (taken_over) {
        inherited = *taken_over;
        inherited_pending = true;
    }
    body.bytes = 0;
    body.failed = false;
    encode_process(&body);
    write_record(&body);
    reserve_memory();
    read_rss(); /* opens what it reads, while it still may */
    sandboxed();
    writer_is_alone(&(int){0});
    read_proc(&process_stat, "/proc/self/stat", (char[64]){0}, 64);
    return 0;
}

void writer_after_fork(void)
{
    /* The parent's collector may have been amid any of these: start with new ones. */
    if (shared_descriptors && file >= 0 && output_is_ours(file))
        sys_call(SYS_close, file);
    file = statm = thread_status = process_status = process_stat = -1;
    frame_ids = (FrameIds){0};
    module_states = NULL;
    module_states_capacity = 0;
    last_timestamp = 0;
    complained = false;
    body = definitions = compressed = (WireBuffer){.grow = drain_grow};
    compressor = NULL;
}
