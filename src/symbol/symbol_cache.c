// SPDX-License-Identifier: Apache-2.0
/*
 * Purpose: answers of the symbolizer on disk, one file per module.
 *
 *   Header | Entry[entries] sorted by pc | Frame[frames] | texts, each ended by NUL
 *
 * In the machine's own byte order: it is a cache, not a format; the magic would not match
 * elsewhere. Entries point at frames by index, frames at texts by offset + 1 (0: NULL). A checksum
 * over all behind the header plus a check of every index make a broken file harmless. Writing goes
 * to a temporary name in the same folder (O_EXCL, 0600) and is renamed, so readers see the old or
 * the new file; of two writers at once one wins. The time of the file is renewed on use, once a
 * day, and the folder is trimmed by it.
 *
 * Cost: loading reads the file and checks it (about 1 GB/s); a look-up is a binary search.
 */
#include "symbol/symbol_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/sys.h"

#define MAGIC       UINT64_C(0x014d59534b57484d) /* "MHWKSYM" and the version, 1 */
#define INLINED_BIT UINT32_C(0x80000000)
#define SUFFIX      ".sym"

typedef struct Header {
    uint64_t magic, fingerprint, checksum;
    uint32_t entry_count, frame_count;
    uint64_t text_bytes;
} Header;

typedef struct Entry {
    uint64_t pc;
    uint32_t first_frame, frame_count;
} Entry;

typedef struct Frame {
    uint32_t function, raw, file; /* offset of the text + 1 */
    uint32_t line;                /* | INLINED_BIT */
} Frame;

_Static_assert(sizeof(Header) == 40 && sizeof(Entry) == 16 && sizeof(Frame) == 16,
               "layout of the cache file");

struct SymbolCache {
    uint64_t *image; /* malloc'd */
    const Header *header;
    const Entry *entries;
    const Frame *frames;
    const char *texts;
};

static uint64_t checksum(const void *data, size_t bytes)
{
    const uint8_t *at = data;
    uint64_t a = bytes, word;
    for (; bytes >= 8; bytes -= 8, at += 8) {
        memcpy(&word, at, 8);
        a = hash_mix(a, word);
    }
    word = 0;
    memcpy(&word, at, bytes);
    return hash_mix(a, word);
}

/* ---- key ------------------------------------------------------------------------------------ */

static uint64_t mix_file(uint64_t hash, const SymbolFile *file)
{
    if (!file)
        return hash_mix(hash, 0);
    const struct stat *st = &file->st;
    hash = hash_mix(hash, checksum(file->path, strlen(file->path)));
    hash = hash_mix(hash, checksum(file->build_id, file->build_id_size));
    hash = hash_mix(hash, (uint64_t)st->st_size);
    hash = hash_mix(hash, (uint64_t)st->st_mtim.tv_sec);
    hash = hash_mix(hash, (uint64_t)st->st_mtim.tv_nsec);
    hash = hash_mix(hash, (uint64_t)st->st_ctim.tv_sec);
    return hash_mix(hash, (uint64_t)st->st_ino);
}

void symbol_cache_key(const SymbolFiles *files, SymbolCacheKey *ret_key)
{
    const SymbolFile *first = files->main ? files->main : files->debug;
    *ret_key = (SymbolCacheKey){0};
    if (!first)
        return;
    uint64_t hash = checksum(MEMHAWK_VERSION, strlen(MEMHAWK_VERSION));
    hash = mix_file(mix_file(hash, files->main), files->debug);
    hash = mix_file(mix_file(hash, files->alt), files->package);
    ret_key->fingerprint = hash ? hash : 1;
    for (size_t i = 0; i < first->build_id_size; i++)
        snprintf(ret_key->name + 2 * i, 3, "%02x", first->build_id[i]);
    if (!first->build_id_size)
        snprintf(ret_key->name, sizeof(ret_key->name), "path-%016llx",
                 (unsigned long long)checksum(first->path, strlen(first->path)));
    strcat(ret_key->name, SUFFIX);
}

char *symbol_cache_folder(void)
{
    const char *base = getenv("XDG_CACHE_HOME");
    const char *between = "";
    if (!base || base[0] != '/') {
        base = getenv("HOME");
        between = "/.cache";
    }
    char *folder = NULL;
    if (!base || base[0] != '/' || asprintf(&folder, "%s%s/memhawk/symbols", base, between) < 0)
        return NULL;
    return folder;
}

/* ---- reading -------------------------------------------------------------------------------- */

/* Splits the image and checks every index; -EBADMSG when anything is out of place. */
static int cache_check(SymbolCache *cache, size_t bytes, uint64_t fingerprint)
{
    const Header *h = cache->header = (const Header *)cache->image;
    if (bytes < sizeof(*h) || h->magic != MAGIC)
        return -EBADMSG;
    uint64_t expected = sizeof(*h) + (uint64_t)h->entry_count * sizeof(Entry) +
                        (uint64_t)h->frame_count * sizeof(Frame);
    if (h->text_bytes > bytes || expected + h->text_bytes != bytes)
        return -EBADMSG;
    if (h->fingerprint != fingerprint)
        return -ESTALE;
    if (h->checksum != checksum(h + 1, bytes - sizeof(*h)))
        return -EBADMSG;
    cache->entries = (const Entry *)(h + 1);
    cache->frames = (const Frame *)(cache->entries + h->entry_count);
    cache->texts = (const char *)(cache->frames + h->frame_count);
    if (h->text_bytes && cache->texts[h->text_bytes - 1])
        return -EBADMSG;
    for (uint32_t i = 0; i < h->entry_count; i++) {
        const Entry *e = &cache->entries[i];
        if (e->frame_count == 0 || (uint64_t)e->first_frame + e->frame_count > h->frame_count ||
            (i && e[-1].pc >= e->pc))
            return -EBADMSG;
    }
    for (uint32_t i = 0; i < h->frame_count; i++) {
        const Frame *f = &cache->frames[i];
        if (f->function > h->text_bytes || f->raw > h->text_bytes || f->file > h->text_bytes)
            return -EBADMSG;
    }
    return 0;
}

static int read_image(int fd, uint64_t **ret_image, size_t *ret_bytes)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode) || st.st_size <= 0 || (uint64_t)st.st_size > SYMBOL_CACHE_FILE_BYTES)
        return -EBADMSG;
    uint64_t *image = malloc((size_t)st.st_size + 8);
    if (!image)
        return -ENOMEM;
    long n = sys_read_all(fd, image, (size_t)st.st_size);
    if (n != st.st_size) {
        free(image);
        return n < 0 ? (int)n : -EBADMSG;
    }
    if (st.st_mtime + 24 * 3600 < time(NULL))
        futimens(fd, NULL);
    *ret_image = image;
    *ret_bytes = (size_t)n;
    return 0;
}

int symbol_cache_load(const char *folder, const SymbolCacheKey *key, SymbolCache **ret_cache)
{
    char *path = NULL;
    if (!key->fingerprint || asprintf(&path, "%s/%s", folder, key->name) < 0)
        return -ENOENT;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    int r = fd < 0 ? -errno : 0;
    free(path);
    SymbolCache *cache = r == 0 ? calloc(1, sizeof(*cache)) : NULL;
    size_t bytes = 0;
    if (r == 0)
        r = cache ? read_image(fd, &cache->image, &bytes) : -ENOMEM;
    if (r == 0)
        r = cache_check(cache, bytes, key->fingerprint);
    if (fd >= 0)
        close(fd);
    if (r < 0)
        symbol_cache_free(cache);
    else
        *ret_cache = cache;
    return r;
}

void symbol_cache_free(SymbolCache *cache)
{
    if (!cache)
        return;
    free(cache->image);
    free(cache);
}

size_t symbol_cache_count(const SymbolCache *cache)
{
    return cache ? cache->header->entry_count : 0;
}

uint64_t symbol_cache_pc(const SymbolCache *cache, size_t index)
{
    return cache->entries[index].pc;
}

static const char *text_at(const SymbolCache *cache, SymbolArena *arena, uint32_t offset)
{
    return offset ? symbol_arena_intern(arena, cache->texts + offset - 1) : NULL;
}

SymbolAnswer *symbol_cache_find(const SymbolCache *cache, SymbolArena *arena, uint64_t pc)
{
    size_t low = 0, high = symbol_cache_count(cache);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (cache->entries[middle].pc < pc)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == symbol_cache_count(cache) || cache->entries[low].pc != pc)
        return NULL;
    const Entry *entry = &cache->entries[low];
    SymbolAnswer *answer =
        symbol_arena_take(arena, sizeof(*answer) + entry->frame_count * sizeof(SymbolFrame));
    if (!answer)
        return NULL;
    answer->pc = pc;
    answer->count = entry->frame_count;
    for (uint32_t i = 0; i < entry->frame_count; i++) {
        const Frame *f = &cache->frames[entry->first_frame + i];
        answer->frames[i] = (SymbolFrame){.function = text_at(cache, arena, f->function),
                                          .raw = text_at(cache, arena, f->raw),
                                          .file = text_at(cache, arena, f->file),
                                          .line = f->line & ~INLINED_BIT,
                                          .inlined = f->line & INLINED_BIT};
    }
    return answer;
}

/* ---- writing -------------------------------------------------------------------------------- */

typedef struct Writer {
    Entry *entries;
    Frame *frames;
    char *texts;
    size_t frame_count, text_bytes, text_capacity;
    SymbolMap offsets; /* interned text -> offset + 1 */
} Writer;

static int put_text(Writer *w, const char *text, uint32_t *ret_offset)
{
    *ret_offset = 0;
    if (!text)
        return 0;
    uintptr_t known = (uintptr_t)symbol_map_find(&w->offsets, (uintptr_t)text);
    if (known) {
        *ret_offset = (uint32_t)known;
        return 0;
    }
    size_t bytes = strlen(text) + 1;
    if (w->text_bytes + bytes > SYMBOL_CACHE_FILE_BYTES)
        return -EFBIG;
    if (w->text_bytes + bytes > w->text_capacity) {
        size_t capacity = 2 * (w->text_bytes + bytes);
        char *bigger = realloc(w->texts, capacity);
        if (!bigger)
            return -ENOMEM;
        w->texts = bigger;
        w->text_capacity = capacity;
    }
    memcpy(w->texts + w->text_bytes, text, bytes);
    *ret_offset = (uint32_t)w->text_bytes + 1;
    w->text_bytes += bytes;
    return symbol_map_put(&w->offsets, (uintptr_t)text, (void *)(uintptr_t)*ret_offset);
}

static int put_frame(Writer *w, const SymbolFrame *frame)
{
    Frame *f = &w->frames[w->frame_count++];
    int r = put_text(w, frame->function, &f->function);
    if (r == 0)
        r = put_text(w, frame->raw, &f->raw);
    if (r == 0)
        r = put_text(w, frame->file, &f->file);
    f->line = (frame->line & ~INLINED_BIT) | (frame->inlined ? INLINED_BIT : 0);
    return r;
}

static int answer_compare(const void *left, const void *right)
{
    const SymbolAnswer *a = *(SymbolAnswer *const *)left, *b = *(SymbolAnswer *const *)right;
    return a->pc < b->pc ? -1 : a->pc > b->pc;
}

static int collect(Writer *w, SymbolAnswer **answers, size_t count)
{
    size_t frames = 0;
    for (size_t i = 0; i < count; i++)
        frames += answers[i]->count;
    if (count > UINT32_MAX || frames > UINT32_MAX)
        return -EFBIG;
    w->entries = calloc(count + 1, sizeof(*w->entries));
    w->frames = calloc(frames + 1, sizeof(*w->frames));
    if (!w->entries || !w->frames)
        return -ENOMEM;
    qsort(answers, count, sizeof(*answers), answer_compare);
    for (size_t i = 0; i < count; i++) {
        w->entries[i] = (Entry){answers[i]->pc, (uint32_t)w->frame_count, answers[i]->count};
        for (uint32_t k = 0; k < answers[i]->count; k++) {
            int r = put_frame(w, &answers[i]->frames[k]);
            if (r < 0)
                return r;
        }
    }
    return 0;
}

/* malloc'd image of the file. */
static int make_image(const Writer *w, size_t count, uint64_t fingerprint, char **ret_image,
                      size_t *ret_bytes)
{
    size_t entry_bytes = count * sizeof(Entry), frame_bytes = w->frame_count * sizeof(Frame);
    size_t bytes = sizeof(Header) + entry_bytes + frame_bytes + w->text_bytes;
    if (bytes > SYMBOL_CACHE_FILE_BYTES)
        return -EFBIG;
    char *image = malloc(bytes);
    if (!image)
        return -ENOMEM;
    char *at = image + sizeof(Header);
    memcpy(at, w->entries, entry_bytes);
    memcpy(at + entry_bytes, w->frames, frame_bytes);
    if (w->text_bytes)
        memcpy(at + entry_bytes + frame_bytes, w->texts, w->text_bytes);
    Header header = {.magic = MAGIC,
                     .fingerprint = fingerprint,
                     .checksum = checksum(at, bytes - sizeof(Header)),
                     .entry_count = (uint32_t)count,
                     .frame_count = (uint32_t)w->frame_count,
                     .text_bytes = w->text_bytes};
    memcpy(image, &header, sizeof(header));
    *ret_image = image;
    *ret_bytes = bytes;
    return 0;
}

static void make_folders(const char *folder)
{
    char *path = strdup(folder);
    for (char *slash = path ? strchr(path + 1, '/') : NULL; slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    if (path)
        mkdir(path, 0700);
    free(path);
}

static int replace_file(const char *folder, const char *name, const char *image, size_t bytes)
{
    char *path = NULL, *temporary = NULL;
    int fd = -1, r = -ENOMEM;
    if (asprintf(&path, "%s/%s", folder, name) < 0) {
        path = NULL;
        goto done;
    }
    if (asprintf(&temporary, "%s/.new-%d-%s", folder, (int)getpid(), name) < 0) {
        temporary = NULL;
        goto done;
    }
    make_folders(folder);
    fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        r = -errno;
        goto done;
    }
    r = sys_write_all(fd, image, bytes);
    if (r == 0 && rename(temporary, path) < 0)
        r = -errno;
    if (r < 0)
        unlink(temporary);
done:
    if (fd >= 0)
        close(fd);
    free(path);
    free(temporary);
    return r;
}

int symbol_cache_save(const char *folder, const SymbolCacheKey *key, SymbolAnswer **answers,
                      size_t count)
{
    Writer w = {0};
    char *image = NULL;
    size_t bytes = 0;
    int r = key->fingerprint ? collect(&w, answers, count) : -EINVAL;
    if (r == 0)
        r = make_image(&w, count, key->fingerprint, &image, &bytes);
    if (r == 0)
        r = replace_file(folder, key->name, image, bytes);
    free(image);
    free(w.entries);
    free(w.frames);
    free(w.texts);
    symbol_map_done(&w.offsets);
    return r;
}

/* ---- size of the folder --------------------------------------------------------------------- */

/* Looks at all files once: sum of the sizes, and the name of the one used longest ago. */
static uint64_t folder_bytes(int dir_fd, char ret_oldest[NAME_MAX + 1])
{
    uint64_t sum = 0;
    time_t oldest = 0;
    int fd = dup(dir_fd);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    ret_oldest[0] = '\0';
    if (!dir) {
        if (fd >= 0)
            close(fd);
        return 0;
    }
    rewinddir(dir);
    for (struct dirent *e; (e = readdir(dir));) {
        struct stat st;
        const char *suffix = strrchr(e->d_name, '.');
        if (!suffix || strcmp(suffix, SUFFIX) != 0 ||
            fstatat(dir_fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
            continue;
        sum += (uint64_t)st.st_size;
        if (!ret_oldest[0] || st.st_mtime < oldest) {
            oldest = st.st_mtime;
            strcpy(ret_oldest, e->d_name);
        }
    }
    closedir(dir);
    return sum;
}

void symbol_cache_trim(const char *folder, uint64_t max_bytes)
{
    char oldest[NAME_MAX + 1];
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    while (folder_bytes(fd, oldest) > max_bytes && oldest[0])
        if (unlinkat(fd, oldest, 0) < 0)
            break;
    close(fd);
}
