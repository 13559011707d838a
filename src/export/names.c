// SPDX-License-Identifier: Apache-2.0
/*
 * Hostile names made safe for each kind of output, and long C++ names made short.
 *
 * Everything is built on one strict UTF-8 decoder (no overlong forms, no surrogates, nothing above
 * U+10FFFF), the same set that jansson accepts. Escaping is one pass over the name, linear; the
 * shortening passes are linear too. Buffers grow by doubling and are owned by the caller. No
 * global state.
 */
#include "export/names.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

void name_buffer_done(NameBuffer *buffer)
{
    free(buffer->data);
    *buffer = (NameBuffer){0};
}

void name_buffer_clear(NameBuffer *buffer)
{
    buffer->length = 0;
    if (buffer->data)
        buffer->data[0] = '\0';
}

const char *name_append(NameBuffer *buffer, const char *text, size_t length)
{
    if (buffer->length + length + 1 > buffer->capacity) {
        size_t capacity = buffer->capacity ? buffer->capacity : 128;
        while (capacity < buffer->length + length + 1)
            capacity *= 2;
        char *data = realloc(buffer->data, capacity);
        if (!data)
            return NULL;
        buffer->data = data;
        buffer->capacity = capacity;
    }
    if (length)
        memcpy(buffer->data + buffer->length, text, length);
    buffer->length += length;
    buffer->data[buffer->length] = '\0';
    return buffer->data;
}

size_t name_sequence(const char *text, uint32_t *ret_code_point)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *s = (const unsigned char *)text;
    size_t length = s[0] < 0x80                   ? 1
                    : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
                    : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
                    : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
                                                  : 0;
    if (length == 0)
        return 0;
    uint32_t code = length == 1 ? s[0] : s[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) { /* a NUL ends this: it is no continuation byte */
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (s[i] & 0x3fu);
    }
    if (code < smallest[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return 0;
    *ret_code_point = code;
    return length;
}

const char *name_append_utf8(NameBuffer *buffer, const char *name)
{
    const char *data = name_append(buffer, "", 0);
    for (const char *p = name ? name : ""; data && *p;) {
        uint32_t code;
        size_t length = name_sequence(p, &code);
        data = length ? name_append(buffer, p, length) : name_append(buffer, "\xef\xbf\xbd", 3);
        p += length ? length : 1;
    }
    return data;
}

/* Characters that move the cursor, start an escape sequence or reorder text. */
static bool is_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x202a && code <= 0x202e) ||
           (code >= 0x2066 && code <= 0x2069) || code == 0x200e || code == 0x200f ||
           code == 0x2028 || code == 0x2029;
}

const char *name_append_terminal(NameBuffer *buffer, const char *name, bool ascii)
{
    const char *data = name_append(buffer, "", 0);
    for (const char *p = name ? name : ""; data && *p;) {
        uint32_t code = 0;
        size_t length = name_sequence(p, &code);
        if (length && !is_control(code) && (code < 0x80 || !ascii)) {
            data = name_append(buffer, p, length);
            p += length;
            continue;
        }
        for (size_t i = 0; data && i < (length ? length : 1); i++) {
            char hex[8];
            int n = snprintf(hex, sizeof(hex), "\\x%02X", (unsigned char)p[i]);
            data = name_append(buffer, hex, (size_t)n);
        }
        p += length ? length : 1;
    }
    return data;
}

const char *name_append_folded(NameBuffer *buffer, const char *name)
{
    NameBuffer valid = {0};
    const char *data = name_append_utf8(&valid, name && *name ? name : "[unknown]");
    for (const char *p = data; data && *p;) {
        uint32_t code = 0;
        size_t length = name_sequence(p, &code);
        bool bad =
            code == ' ' || is_control(code); /* readers split lines at U+2028 and U+0085 too */
        data = bad           ? name_append(buffer, "_", 1)
               : code == ';' ? name_append(buffer, ":", 1)
                             : name_append(buffer, p, length);
        p += length;
    }
    name_buffer_done(&valid);
    return data;
}

/* Appends NAME with PREFIX before each character of SPECIAL. */
static const char *append_prefixed(NameBuffer *buffer, const char *name, const char *special,
                                   const char *prefix)
{
    const char *data = name_append(buffer, "", 0);
    while (data && *name) {
        size_t plain = strcspn(name, special);
        data = name_append(buffer, name, plain);
        name += plain;
        if (data && *name && (data = name_append(buffer, prefix, strlen(prefix))))
            data = name_append(buffer, name++, 1);
    }
    return data;
}

static bool is_plain_word(const char *word)
{
    const char *c = word;
    while (*c && (isalnum((unsigned char)*c) || *c & 0x80 || strchr("_-+./,:@%=", *c)))
        c++;
    return *word && !*c;
}

const char *name_append_shell(NameBuffer *buffer, const char *name, bool ascii)
{
    NameBuffer clean = {0}, escaped = {0};
    const char *data = NULL;
    name = name ? name : "";
    const char *shown = name_append_terminal(&clean, name, ascii);
    bool is_clean = shown && strcmp(shown, name) == 0;
    if (is_clean && is_plain_word(name)) {
        data = name_append(buffer, name, strlen(name));
    } else if (is_clean) { /* at a quote '...' ends, \' follows, and it begins again */
        if (name_append(buffer, "'", 1) && append_prefixed(buffer, name, "'", "'\\'"))
            data = name_append(buffer, "'", 1);
    } else if (shown && append_prefixed(&escaped, name, "'\\", "\\") &&
               name_append(buffer, "$'", 2) && name_append_terminal(buffer, escaped.data, ascii)) {
        data = name_append(buffer, "'", 1);
    }
    name_buffer_done(&clean);
    name_buffer_done(&escaped);
    return data;
}

const char *name_append_html(NameBuffer *buffer, const char *name)
{
    NameBuffer valid = {0};
    const char *data = name_append(buffer, "", 0);
    if (data && !name_append_utf8(&valid, name))
        data = NULL;
    for (const char *p = valid.data; data && p && *p; p++) {
        const char *entity = *p == '<'    ? "&lt;"
                             : *p == '>'  ? "&gt;"
                             : *p == '&'  ? "&amp;"
                             : *p == '"'  ? "&quot;"
                             : *p == '\'' ? "&#39;"
                                          : NULL;
        data = entity ? name_append(buffer, entity, strlen(entity)) : name_append(buffer, p, 1);
    }
    name_buffer_done(&valid);
    return data;
}

const char *name_append_line(NameBuffer *buffer, const char *name)
{
    size_t start = buffer->length;
    const char *data = name_append_utf8(buffer, name);
    for (char *p = data ? buffer->data + start : NULL; p && *p; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7f)
            *p = ' ';
    return data;
}

unsigned name_columns(const char *name)
{
    unsigned columns = 0;
    while (*name) {
        uint32_t code = 0;
        size_t length = name_sequence(name, &code);
        int width = length ? wcwidth((wchar_t)code) : 1;
        columns += width < 0 ? 1 : (unsigned)width; /* -1: not in this locale; drawn as one */
        name += length ? length : 1;
    }
    return columns;
}

const char *name_base(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash && slash[1] ? slash + 1 : path ? path : "";
}

/* Length of an operator name at `p` that contains < > or ( ), else 0. */
static size_t operator_length(const char *start, const char *p)
{
    static const char *const symbols[] = {"<<=", ">>=", "<=>", "->*", "<<", ">>",
                                          "<=",  ">=",  "->",  "()",  "<",  ">"};
    if (p - start < 8 || memcmp(p - 8, "operator", 8) != 0)
        return 0;
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++)
        if (strncmp(p, symbols[i], strlen(symbols[i])) == 0)
            return strlen(symbols[i]);
    return 0;
}

/*
 * Replaces what stands between the outermost pairs of `open` and `close` by "...". A Rust name such
 * as "<T as Trait>::f" starts with its bracket and keeps it: cutting there would leave nothing.
 */
static bool collapse(NameBuffer *out, const char *name, char open, char close)
{
    int depth = 0;
    const char *from = NULL;
    for (const char *p = name; *p; p++) {
        size_t skip = operator_length(name, p);
        if (!skip && p > name && p[-1] == '-' && *p == '>') /* "-> T" of Rust and lambdas */
            skip = 1;
        if (skip) {
            if (depth == 0 && !name_append(out, p, skip))
                return false;
            p += skip - 1;
            continue;
        }
        if (*p == close && depth > 0 && --depth == 0) {
            bool tiny = p - from <= 3;
            if (!name_append(out, tiny ? from : "...", tiny ? (size_t)(p - from) : 3))
                return false;
        }
        if (depth == 0 && !name_append(out, p, 1))
            return false;
        if (*p == open && p != name && depth++ == 0)
            from = p + 1;
    }
    return depth == 0 || name_append(out, "...", 3);
}

/* Byte position after at most `columns` columns of text. */
static size_t prefix_bytes(const char *text, unsigned columns)
{
    size_t bytes = 0;
    for (unsigned used = 0; text[bytes];) {
        char one[5] = {0};
        uint32_t code;
        size_t length = name_sequence(text + bytes, &code);
        length = length ? length : 1;
        memcpy(one, text + bytes, length);
        used += name_columns(one);
        if (used > columns)
            break;
        bytes += length;
    }
    return bytes;
}

/* Keeps the head and the tail, two parts to three: the end of a C++ name says more. */
static const char *cut_middle(NameBuffer *out, const char *name, unsigned columns, bool ascii)
{
    const char *dots = ascii ? "..." : "\xe2\x80\xa6";
    unsigned dot_columns = ascii ? 3 : 1;
    if (columns <= dot_columns)
        return name_append(out, ascii ? "..." : dots, ascii ? columns : columns ? 3 : 0);
    unsigned head = (columns - dot_columns) * 2 / 5, tail = columns - dot_columns - head;
    size_t bytes = prefix_bytes(name, head);
    unsigned total = name_columns(name);
    const char *end = name + prefix_bytes(name, total - tail);
    while (name_columns(end) > tail) { /* a wide character straddles the cut */
        uint32_t code;
        size_t length = name_sequence(end, &code);
        end += length ? length : 1;
    }
    if (!name_append(out, name, bytes) || !name_append(out, dots, strlen(dots)))
        return NULL;
    return name_append(out, end, strlen(end));
}

const char *name_shorten(NameBuffer *buffer, const char *name, unsigned columns, bool ascii)
{
    name_buffer_clear(buffer);
    if (name_columns(name) <= columns)
        return name_append(buffer, name, strlen(name));
    NameBuffer templates = {0}, parameters = {0};
    const char *result = NULL;
    if (!collapse(&templates, name, '<', '>'))
        goto out;
    result = templates.data;
    if (name_columns(result) > columns) {
        result = collapse(&parameters, templates.data, '(', ')') ? parameters.data : NULL;
        if (!result)
            goto out;
    }
    result = name_columns(result) <= columns ? name_append(buffer, result, strlen(result))
                                             : cut_middle(buffer, result, columns, ascii);
out:
    name_buffer_done(&templates);
    name_buffer_done(&parameters);
    return result;
}
