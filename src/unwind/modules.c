// SPDX-License-Identifier: Apache-2.0
/*
 * The table of modules: which file's code lies where, now and earlier.
 *
 * A refresh reads /proc/self/maps and groups lines of one file that begin at offset 0. A group
 * known already is kept as it is; of a new one the ELF header, program headers and build-id are
 * copied with process_vm_readv, because another thread may unmap it meanwhile. Groups that vanished
 * are marked unloaded and raise unwind_epoch.
 *
 * Readers look addresses up in a sorted array. There are two: a refresh fills the idle one and
 * flips `version`; a reader that sees the version unchanged after its search has read a stable
 * array. So no reader waits, not even a signal handler that interrupted the refresh.
 *
 * Modules are never freed: stacks of the past still need them. The same file coming back to the
 * same place is the same code and revives its old entry, which bounds the table for programs that
 * open and close plug-ins for ever.
 */
#include <elf.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/sys.h"
#include "unwind/internal.h"

enum { MAX_MODULES = 1 << 16, FIRST_LIVE = 512, CHUNK_BYTES = 64 << 10, MAX_PHDRS = 64 };

typedef struct LiveModule {
    uint64_t start, end;
    UnwindModule *module;
} LiveModule;

typedef struct LiveTable {
    size_t count, capacity;
    LiveModule *entries;
} LiveTable;

typedef struct Candidate {
    uint64_t start, end, device, inode;
    bool executable, deleted;
    char path[4096];
} Candidate;

_Atomic uint32_t unwind_epoch;
int (*unwind_dl_find_object)(void *, void *);
void (*unwind_on_unload)(void);

static UnwindAllocFn alloc_pages;
static _Atomic uint32_t refresher;                   /* lock: the thread that is at it, 0: none */
static _Atomic uint32_t refresh_begun, refresh_done; /* how many; writer: the refresher */
static _Atomic uint32_t refresh_stuck = UINT32_MAX;  /* the one that was awaited in vain */
static UnwindModule **modules;                       /* MAX_MODULES pointers; writer: the refresh */
static _Atomic size_t module_count;
static LiveTable live[2];
static _Atomic uint32_t version;
static char *chunk;
static size_t chunk_left;
static Candidate candidate; /* the refresh's work space */
static MapsIterator iterator;
static uint64_t quiet_ns, last_try_ns;

static void *take(size_t bytes)
{
    bytes = (bytes + 15) & ~(size_t)15;
    if (bytes > chunk_left) {
        chunk = alloc_pages(CHUNK_BYTES);
        chunk_left = chunk ? CHUNK_BYTES : 0;
        if (!chunk)
            return NULL;
    }
    void *block = chunk;
    chunk += bytes;
    chunk_left -= bytes;
    return block;
}

void *unwind_pages(size_t bytes)
{
    return alloc_pages(bytes);
}

int unwind_init(UnwindAllocFn alloc)
{
    alloc_pages = alloc;
    modules = alloc(MAX_MODULES * sizeof(*modules));
    for (int i = 0; i < 2 && modules; i++) {
        live[i].entries = alloc(FIRST_LIVE * sizeof(LiveModule));
        live[i].capacity = live[i].entries ? FIRST_LIVE : 0;
    }
    return modules && live[1].entries ? unwind_modules_refresh() : -12 /* ENOMEM */;
}

static const LiveModule *live_search(const LiveTable *table, uint64_t address)
{
    size_t low = 0, high = table->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (address < table->entries[middle].start)
            high = middle;
        else if (address >= table->entries[middle].end)
            low = middle + 1;
        else
            return &table->entries[middle];
    }
    return NULL;
}

const UnwindModule *unwind_module_at(uint64_t address)
{
    for (;;) {
        uint32_t before = atomic_load_explicit(&version, memory_order_acquire);
        const LiveModule *found = live_search(&live[before & 1], address);
        const UnwindModule *module = found ? found->module : NULL;
        atomic_thread_fence(memory_order_acquire);
        if (atomic_load_explicit(&version, memory_order_relaxed) == before)
            return module;
    }
}

size_t unwind_module_count(void)
{
    return atomic_load_explicit(&module_count, memory_order_acquire);
}

const UnwindModule *unwind_module(size_t index)
{
    return modules[index];
}

const UnwindModule *unwind_module_find(FrameWord word)
{
    uint64_t address = FRAME_ADDRESS(word);
    const UnwindModule *module = unwind_module_at(address);
    if (module && (module->generation & 0xff) == FRAME_GENERATION(word))
        return module;
    for (size_t i = unwind_module_count(); i-- > 0;) {
        module = modules[i];
        if (address >= module->start && address < module->end &&
            (module->generation & 0xff) == FRAME_GENERATION(word))
            return module;
    }
    return NULL;
}

/* ---- reading an image ------------------------------------------------------------------------ */

static void find_build_id(UnwindModule *module, uint64_t address, uint64_t bytes)
{
    uint8_t notes[1024];
    if (bytes > sizeof(notes))
        bytes = sizeof(notes);
    if (!unwind_read_safely(address, notes, bytes))
        return;
    for (size_t at = 0; at + sizeof(Elf64_Nhdr) <= bytes;) {
        Elf64_Nhdr note;
        memcpy(&note, notes + at, sizeof(note));
        size_t name = at + sizeof(note), description = name + ((note.n_namesz + 3) & ~3u);
        if (note.n_namesz > bytes || note.n_descsz > bytes || description > bytes ||
            description + note.n_descsz > bytes)
            return;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            memcmp(notes + name, "GNU", 4) == 0 && note.n_descsz <= sizeof(module->build_id)) {
            memcpy(module->build_id, notes + description, note.n_descsz);
            module->build_id_bytes = note.n_descsz;
            return;
        }
        at = description + ((note.n_descsz + 3) & ~3u);
    }
}

static void take_phdr(UnwindModule *module, const Elf64_Phdr *phdr)
{
    if (phdr->p_type == PT_GNU_EH_FRAME)
        module->eh_frame_hdr = module->bias + phdr->p_vaddr;
    if (phdr->p_type == PT_NOTE && !module->build_id_bytes)
        find_build_id(module, module->bias + phdr->p_vaddr, phdr->p_filesz);
    if (phdr->p_type != PT_LOAD)
        return;
    uint64_t start = (module->bias + phdr->p_vaddr) & ~UINT64_C(4095);
    uint64_t end = (module->bias + phdr->p_vaddr + phdr->p_memsz + 4095) & ~UINT64_C(4095);
    if (start < module->start)
        module->start = start;
    if (end > module->end)
        module->end = end;
    if (module->segment_count < 8)
        module->segments[module->segment_count++] =
            (struct UnwindSegment){phdr->p_vaddr, phdr->p_memsz};
}

/* Fills what the image at `candidate.start` tells; false: not an ELF image with code. */
static bool read_image(UnwindModule *module)
{
    Elf64_Ehdr ehdr;
    Elf64_Phdr phdrs[MAX_PHDRS];
    if (!unwind_read_safely(candidate.start, &ehdr, sizeof(ehdr)) ||
        memcmp(ehdr.e_ident, ELFMAG, SELFMAG) != 0 || ehdr.e_ident[EI_CLASS] != ELFCLASS64 ||
        (ehdr.e_type != ET_DYN && ehdr.e_type != ET_EXEC) || ehdr.e_phentsize != sizeof(Elf64_Phdr))
        return false;
    size_t count = ehdr.e_phnum < MAX_PHDRS ? ehdr.e_phnum : MAX_PHDRS;
    if (!unwind_read_safely(candidate.start + ehdr.e_phoff, phdrs, count * sizeof(Elf64_Phdr)))
        return false;
    size_t first = 0;
    while (first < count && (phdrs[first].p_type != PT_LOAD || phdrs[first].p_offset >= 4096))
        first++;
    if (first == count)
        return false;
    module->bias = candidate.start - (phdrs[first].p_vaddr & ~UINT64_C(4095));
    module->start = candidate.start;
    module->end = candidate.end;
    for (size_t i = 0; i < count; i++)
        take_phdr(module, &phdrs[i]);
    return true;
}

/* ---- refresh --------------------------------------------------------------------------------- */

static UnwindModule *live_known(const LiveTable *old)
{
    const LiveModule *found = live_search(old, candidate.start);
    UnwindModule *module = found ? found->module : NULL;
    return module && module->inode == candidate.inode && module->device == candidate.device &&
                   (module->inode || module->vdso)
               ? module
               : NULL;
}

static bool same_code(const UnwindModule *a, const UnwindModule *b)
{
    return a->bias == b->bias && a->inode == b->inode && a->device == b->device &&
           a->build_id_bytes == b->build_id_bytes &&
           memcmp(a->build_id, b->build_id, a->build_id_bytes) == 0 &&
           strcmp(a->path, b->path) == 0;
}

/* Enters what was read into the table, or revives an equal entry of the past. */
static UnwindModule *enter(const UnwindModule *fresh)
{
    size_t count = atomic_load_explicit(&module_count, memory_order_relaxed);
    uint32_t generation = 0;
    for (size_t i = 0; i < count; i++) {
        UnwindModule *module = modules[i];
        if (module->unload_ns && same_code(module, fresh)) {
            __atomic_store_n(&module->unload_ns, 0, __ATOMIC_RELEASE);
            return module;
        }
        if (module->start < fresh->end && fresh->start < module->end)
            generation++;
    }
    UnwindModule *module = count < MAX_MODULES ? take(sizeof(*module)) : NULL;
    char *path = module ? take(strlen(fresh->path) + 1) : NULL;
    if (!path)
        return NULL;
    memcpy(path, fresh->path, strlen(fresh->path) + 1);
    *module = *fresh;
    module->path = path;
    module->module_id = (uint32_t)count + 1;
    module->generation = generation;
    modules[count] = module;
    atomic_store_explicit(&module_count, count + 1, memory_order_release);
    return module;
}

static bool live_room(LiveTable *table)
{
    if (table->count < table->capacity)
        return true;
    LiveModule *entries = alloc_pages(table->capacity * 2 * sizeof(LiveModule));
    if (!entries)
        return false;
    memcpy(entries, table->entries, table->count * sizeof(LiveModule));
    table->entries = entries; /* the old array stays: a reader may be in it */
    table->capacity *= 2;
    return true;
}

static void finish_candidate(const LiveTable *old, LiveTable *into, uint64_t now_ns)
{
    if (!candidate.start || !candidate.executable)
        return;
    UnwindModule *module = live_known(old);
    if (!module) {
        UnwindModule fresh = {.inode = candidate.inode,
                              .device = candidate.device,
                              .deleted = candidate.deleted,
                              .load_ns = now_ns,
                              .path = candidate.path,
                              .vdso = strcmp(candidate.path, "[vdso]") == 0};
        module = read_image(&fresh) ? enter(&fresh) : NULL;
    }
    if (module && live_room(into))
        into->entries[into->count++] = (LiveModule){module->start, module->end, module};
}

static void begin_candidate(const MapsLine *line)
{
    static const char suffix[] = " (deleted)";
    candidate.start = line->start;
    candidate.end = line->end;
    candidate.device = line->device;
    candidate.inode = line->inode;
    candidate.executable = line->executable;
    size_t length = strlen(line->path);
    if (length >= sizeof(candidate.path))
        length = sizeof(candidate.path) - 1;
    memcpy(candidate.path, line->path, length);
    size_t cut = sizeof(suffix) - 1;
    candidate.deleted = length > cut && memcmp(candidate.path + length - cut, suffix, cut) == 0;
    if (candidate.deleted)
        length -= cut;
    candidate.path[length] = 0;
}

/* A line of offset 0 inside the image that began before: segments below a page (lld) share page 0.
 */
static bool within_candidate(uint64_t address)
{
    UnwindModule probe = {.start = 0};
    return address == candidate.end && read_image(&probe) && address < probe.end;
}

static void collect(const LiveTable *old, LiveTable *into, uint64_t now_ns)
{
    MapsLine line;
    candidate.start = 0;
    while (maps_next(&iterator, &line)) {
        bool vdso = strcmp(line.path, "[vdso]") == 0;
        bool same = candidate.start && line.inode && line.inode == candidate.inode &&
                    line.device == candidate.device &&
                    (line.offset || within_candidate(line.start));
        if (same) {
            candidate.end = line.end;
            candidate.executable |= line.executable;
            continue;
        }
        if (!line.inode && !vdso)
            continue; /* bss, or a gap inside */
        finish_candidate(old, into, now_ns);
        candidate.start = 0;
        if (line.offset == 0 && line.readable)
            begin_candidate(&line);
    }
    finish_candidate(old, into, now_ns);
}

static bool mark_unloaded(const LiveTable *old, const LiveTable *now, uint64_t now_ns)
{
    bool gone = false;
    size_t at = 0;
    for (size_t i = 0; i < old->count; i++) {
        while (at < now->count && now->entries[at].start < old->entries[i].start)
            at++;
        if (at < now->count && now->entries[at].module == old->entries[i].module)
            continue;
        __atomic_store_n(&old->entries[i].module->unload_ns, now_ns, __ATOMIC_RELEASE);
        gone = true;
    }
    return gone;
}

/*
 * 1: it is this caller's turn; 0: another thread did it meanwhile, all of it after this was called;
 * -EBUSY: this is a handler of a signal that interrupted it, or it takes too long.
 */
static int refresh_begin(void)
{
    enum { YIELD_NS = 100000, NAP_NS = 1000000, PATIENCE_NS = 100000000 };
    uint32_t tid = (uint32_t)sys_call(SYS_gettid), wanted = atomic_load(&refresh_begun) + 1;
    uint64_t start_ns = 0;
    for (uint32_t holder = 0; !atomic_compare_exchange_strong(&refresher, &holder, tid);
         holder = 0) {
        if ((int32_t)(atomic_load(&refresh_done) - wanted) >= 0)
            return 0;
        uint64_t now_ns = clock_monotonic_ns();
        start_ns = start_ns ? start_ns : now_ns;
        uint32_t current = atomic_load(&refresh_begun);
        if (holder == tid || current == atomic_load(&refresh_stuck))
            return -16; /* EBUSY */
        if (now_ns - start_ns > PATIENCE_NS)
            atomic_store(&refresh_stuck, current);
        else if (now_ns - start_ns < YIELD_NS)
            sys_call(SYS_sched_yield);
        else /* the holder may have a lower priority */
            sys_futex_wait((uint32_t *)&refresher, holder, NAP_NS);
    }
    atomic_store(&refresh_begun, atomic_load(&refresh_begun) + 1);
    return 1;
}

static void refresh_end(void)
{
    atomic_store(&refresh_done, atomic_load(&refresh_begun));
    atomic_store(&refresher, 0);
}

int unwind_modules_refresh(void)
{
    int ret = refresh_begin();
    if (ret <= 0)
        return ret;
    uint32_t current = atomic_load_explicit(&version, memory_order_relaxed);
    const LiveTable *old = &live[current & 1];
    LiveTable *into = &live[(current + 1) & 1];
    ret = maps_open(&iterator);
    if (ret == 0) {
        uint64_t now_ns = clock_wall_ns();
        into->count = 0;
        collect(old, into, now_ns);
        bool gone = mark_unloaded(old, into, now_ns);
        ret = into->count != old->count || gone;
        atomic_store_explicit(&version, current + 1, memory_order_release);
        if (gone)
            atomic_fetch_add(&unwind_epoch, 1);
        if (gone && unwind_on_unload)
            unwind_on_unload();
    }
    maps_close(&iterator);
    refresh_end();
    return ret < 0 ? ret : 0;
}

void unwind_after_fork(void)
{
    atomic_store(&refresher, 0);
}

int unwind_modules_unknown(uint64_t pc)
{
    if (unwind_dl_find_object) {
        uint64_t result[16]; /* struct dl_find_object is 7 to 8 words */
        if (unwind_dl_find_object((void *)pc, result) != 0)
            return 0;
        int ret = unwind_modules_refresh();
        return ret < 0 ? ret : unwind_module_at(pc) != NULL;
    }
    uint64_t now_ns = clock_monotonic_ns();
    if (now_ns - __atomic_load_n(&last_try_ns, __ATOMIC_RELAXED) <
        __atomic_load_n(&quiet_ns, __ATOMIC_RELAXED))
        return 0;
    __atomic_store_n(&last_try_ns, now_ns, __ATOMIC_RELAXED);
    int ret = unwind_modules_refresh();
    if (ret < 0)
        return ret;
    bool found = unwind_module_at(pc) != NULL;
    uint64_t next = found ? 10000000 : quiet_ns * 2 + 10000000;
    __atomic_store_n(&quiet_ns, next < 1000000000 ? next : 1000000000, __ATOMIC_RELAXED);
    return found;
}
