// SPDX-License-Identifier: Apache-2.0
/*
 * Purpose: readable names from mangled ones: C++ (Itanium), Rust (legacy and v0), D; and Swift
 * where its own demangler is installed (demangle_swift.c).
 *
 * libiberty does the work; this file makes it safe for hostile names. Its recursion limit refuses
 * every C++ name above 1,024 characters, real templates included, so longer names (up to 32 KiB)
 * run without the limit on a thread with a stack that is large enough for the worst of them. A
 * short name can describe an output that doubles with every few characters: output is capped, and
 * reaching the cap leaves the demangler by longjmp. For C++ and Rust the cap sits in the output
 * callback. The D demangler only has a string interface, but it allocates through xmalloc() and
 * xrealloc(); the library expects programs to be able to bring their own, and ours count. What it
 * holds when it is left so is lost to us, because it frees by free(): once that sums up to
 * D_LEFT_BYTES_MAX, D names are shown as they are.
 *
 * A name that is refused is shown as it is. Thread-safe.
 */
#include <errno.h>
#include <libiberty/demangle.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/demangle.h"
#include "symbol/symbol.h"

#define NAME_BYTES_MAX    ((size_t)32 << 10)
#define OUTPUT_BYTES_MAX  ((size_t)256 << 10)
#define SHORT_NAME_BYTES  1000 /* below libiberty's own limit */
#define STACK_BYTES       ((size_t)128 << 20)
#define D_TAKEN_BYTES_MAX ((size_t)16 << 20)  /* sum over all growing; its buffers double */
#define D_LEFT_BYTES_MAX  ((size_t)128 << 20) /* counted as if nothing had been freed */

#define OPTIONS (DMGL_PARAMS | DMGL_ANSI)

typedef struct Demangling {
    const char *raw;
    int extra_options;
    char *text; /* malloc'd */
    size_t length, capacity;
    size_t taken_bytes; /* by xmalloc and xrealloc */
    jmp_buf stop;
} Demangling;

static _Thread_local Demangling *current; /* the D demangling of this thread */

/* ---- output through a callback (C++, Rust) -------------------------------------------------- */

static void put_text(const char *text, size_t length, void *context)
{
    Demangling *d = context;
    if (length == 0)
        return;
    if (length >= OUTPUT_BYTES_MAX - d->length)
        longjmp(d->stop, 1);
    if (d->length + length + 1 > d->capacity) {
        size_t capacity = d->capacity ? d->capacity : 256;
        while (capacity < d->length + length + 1)
            capacity *= 2;
        char *bigger = realloc(d->text, capacity);
        if (!bigger)
            longjmp(d->stop, 1);
        d->text = bigger;
        d->capacity = capacity;
    }
    memcpy(d->text + d->length, text, length);
    d->length += length;
    d->text[d->length] = '\0';
}

typedef int (*CallbackDemangler)(const char *, int, demangle_callbackref, void *);

static bool demangle_by_callback(Demangling *d, CallbackDemangler demangler)
{
    d->length = 0;
    if (setjmp(d->stop) == 0 && demangler(d->raw, OPTIONS | d->extra_options, put_text, d) &&
        d->length > 0)
        return true;
    free(d->text);
    d->text = NULL;
    d->capacity = 0;
    return false;
}

/* ---- output through the heap (D) ------------------------------------------------------------ */

static void *count_taken(void *memory, size_t bytes)
{
    if (memory && (!current || (current->taken_bytes += bytes) <= D_TAKEN_BYTES_MAX))
        return memory;
    if (!current)
        abort(); /* libiberty's contract: these never return NULL */
    free(memory);
    longjmp(current->stop, 1);
}

void *xmalloc(size_t bytes)
{
    return count_taken(malloc(bytes ? bytes : 1), bytes);
}

void *xcalloc(size_t count, size_t bytes)
{
    return count_taken(calloc(count ? count : 1, bytes ? bytes : 1), count * bytes);
}

void *xrealloc(void *memory, size_t bytes)
{
    return count_taken(realloc(memory, bytes ? bytes : 1), bytes);
}

/* gdc's thunks, by which an interface's method is called: "_DTi16_" and the name of the method. */
static const char *skip_thunk(const char *raw)
{
    const char *p = raw + 3;
    if (strncmp(raw, "_DT", 3) != 0)
        return raw;
    p += *p == 'i' || *p == 'n';
    size_t digits = strspn(p, "0123456789");
    return digits && strncmp(p + digits, "_D", 2) == 0 ? p + digits : raw;
}

static bool demangle_d(Demangling *d)
{
    static _Atomic size_t left_bytes;
    if (left_bytes >= D_LEFT_BYTES_MAX)
        return false;
    current = d;
    if (setjmp(d->stop) == 0)
        d->text = dlang_demangle(skip_thunk(d->raw), OPTIONS);
    else
        left_bytes += d->taken_bytes;
    current = NULL;
    return d->text;
}

/* ---- choice of the language ----------------------------------------------------------------- */

static void *demangle_any(void *context)
{
    Demangling *d = context;
    const char *raw = d->raw;
    if (strncmp(raw, "_R", 2) == 0)
        demangle_by_callback(d, rust_demangle_callback);
    else if (strncmp(raw, "_Z", 2) == 0 || strncmp(raw, "_GLOBAL_", 8) == 0) {
        /* Rust's legacy scheme is valid C++, but for its hash: it goes first. */
        if (!demangle_by_callback(d, rust_demangle_callback))
            demangle_by_callback(d, cplus_demangle_v3_callback);
    } else if (strncmp(raw, "_D", 2) == 0)
        demangle_d(d);
    return NULL;
}

static void demangle_on_large_stack(Demangling *d)
{
    pthread_attr_t attributes;
    pthread_t thread;
    d->extra_options = DMGL_NO_RECURSE_LIMIT;
    if (pthread_attr_init(&attributes))
        return;
    if (pthread_attr_setstacksize(&attributes, STACK_BYTES) == 0 &&
        pthread_create(&thread, &attributes, demangle_any, d) == 0)
        pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
}

char *symbol_demangle(const char *raw)
{
    if (!raw)
        return NULL;
    size_t length = strnlen(raw, NAME_BYTES_MAX + 1);
    if (length > NAME_BYTES_MAX)
        return NULL;
    if (demangle_swift_is(raw))
        return demangle_swift(raw);
    if (raw[0] != '_')
        return NULL;
    Demangling d = {.raw = raw};
    if (length <= SHORT_NAME_BYTES)
        demangle_any(&d);
    else
        demangle_on_large_stack(&d);
    return d.text;
}
