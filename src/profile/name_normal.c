// SPDX-License-Identifier: Apache-2.0
/*
 * Names made comparable between two builds.
 *
 * One pass from left to right: at each position a short list of rules looks at what follows and
 * says how much of it to drop; all else is copied. Suffixes that linkers and optimisers add are cut
 * off the end first. A lambda is "$_", whatever a compiler calls it and its parameters, since the
 * same one has several names in one build: the linker's name, and where it is inlined one made of
 * the debug information's scopes, which tell no parameters. So those of functions around a local
 * name go too. What the rules know, by producer:
 *
 *   GCC, Clang   f.constprop.0  f.isra.1  f.part.2  f.cold  f.llvm.123  f.lto_priv.0  f [clone .x]
 *                {lambda(int)#2}  'lambda0'(int)  $_3  (anonymous class)  {unnamed type#1}
 *                f(int)::local::g  f[abi:cxx11]
 *                {anonymous}::  _GLOBAL__N_1::  (same as (anonymous namespace)::)
 *   Rust         f::h0123456789abcdef  std[0123456789abcdef]::f  {closure#0}  closure$0  {impl#3}
 *   Go           main.f.func1  main.f.func1.2      D   __lambda12      Swift   closure #1 in f
 *   ELF          f@plt  f@@VERS_1
 */
#include "profile/name_normal.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

static bool starts(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* What is longer is no number of a compiler; nor are hostile names to cost the square of theirs. */
enum { NUMBER_NEAR = 64, TAG_NEAR = 1024 };

static size_t count_digits(const char *text)
{
    size_t n = 0;
    while (n < NUMBER_NEAR && isdigit((unsigned char)text[n]))
        n++;
    return n;
}

static size_t count_hex(const char *text)
{
    size_t n = 0;
    while (n < NUMBER_NEAR &&
           (isdigit((unsigned char)text[n]) || (text[n] >= 'a' && text[n] <= 'f')))
        n++;
    return n;
}

/* Length of a ".word", ".word.N", ".word.N.word" chain that compilers append, at text[0] == '.'. */
static bool is_compiler_suffix(const char *text)
{
    static const char *const words[] = {".constprop", ".isra",  ".part",       ".cold", ".llvm",
                                        ".lto_priv",  ".clone", ".localalias", ".str",  ".ipa"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t length = strlen(words[i]);
        if (starts(text, words[i]) && (text[length] == '\0' || text[length] == '.'))
            return true;
    }
    return false;
}

static size_t length_without_suffixes(const char *name)
{
    size_t length = strlen(name);
    const char *clone = strstr(name, " [clone ");
    if (clone)
        length = (size_t)(clone - name);
    for (size_t i = 1; i < length; i++) {
        bool version = name[i] == '@' && is_name_char(name[i - 1]);
        if (version || (name[i] == '.' && is_compiler_suffix(name + i)))
            return i;
    }
    /* Rust legacy: "::h" and 16 hex digits at the end. */
    if (length > 19 && starts(name + length - 19, "::h") && count_hex(name + length - 16) == 16)
        return length - 19;
    return length;
}

/* A word in front of a number that only counts, as "{lambda(int)" in "{lambda(int)#2}". */
static size_t drop_counter(const char *name, const char *at)
{
    size_t digits;
    if (*at == '#' && (digits = count_digits(at + 1)) > 0 && (at[digits + 1] == '}'))
        return digits + 1; /* {lambda()#1}, {closure#0}, {impl#3} */
    if (*at == '$' && (digits = count_digits(at + 1)) > 0 && !is_name_char(at[digits + 1]) &&
        at - name >= 7 && starts(at - 7, "closure"))
        return digits + 1; /* closure$0 */
    if (*at == ' ' && at[1] == '#' && (digits = count_digits(at + 2)) > 0 && at - name >= 7 &&
        starts(at - 7, "closure"))
        return digits + 2; /* closure #1 in f */
    return 0;
}

/* Digits at `at` that count something named just before: "func1", "__lambda12", "$_3", "'lambda0'".
 */
static size_t drop_digits(const char *name, const char *at)
{
    static const char *const words[] = {".func", "__lambda", "$_", "'lambda", "'unnamed"};
    size_t digits = count_digits(at);
    if (digits == 0)
        return 0;
    if (is_name_char(at[digits]))
        return 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t length = strlen(words[i]);
        if ((size_t)(at - name) >= length && starts(at - length, words[i]))
            return digits;
    }
    return 0;
}

static size_t drop_bracket(const char *at)
{
    if (*at != '[')
        return 0;
    if (starts(at, "[abi:")) {
        const char *end = memchr(at, ']', strnlen(at, TAG_NEAR));
        return end ? (size_t)(end - at) + 1 : 0;
    }
    size_t hex = count_hex(at + 1); /* Rust v0's crate disambiguator */
    return hex >= 8 && hex <= 16 && at[hex + 1] == ']' ? hex + 2 : 0;
}

/* Go numbers closures inside closures: ".func1.2". `at` is the dot. */
static size_t drop_go_inner(const char *name, const char *at)
{
    if (*at != '.' || at == name || !isdigit((unsigned char)at[-1]))
        return 0;
    const char *begin = at;
    while (begin > name && at - begin < NUMBER_NEAR &&
           (isdigit((unsigned char)begin[-1]) || begin[-1] == '.'))
        begin--;
    if (begin - name < 5 || !starts(begin - 5, ".func"))
        return 0;
    size_t digits = count_digits(at + 1);
    return digits > 0 && !is_name_char(at[digits + 1]) ? digits + 1 : 0;
}

static size_t drop_blank(const char *name, const char *at)
{
    if (*at != ' ')
        return 0;
    return at > name && is_name_char(at[-1]) && is_name_char(at[1]) ? 0 : 1;
}

enum { BRACKET_NEAR = 16384, BRACKET_STEPS = 1 << 20 };

/* From an opening bracket to behind the one that closes it; 0: none does near, or *steps, which all
 * brackets of a name share, are used up: a hostile name of half a MiB would cost seconds. */
static size_t bracket_length(const char *at, size_t *steps)
{
    size_t depth = 0;
    for (size_t i = 0; i < BRACKET_NEAR && at[i] && *steps > 0; i++, --*steps) {
        depth += at[i] == '(' || at[i] == '{';
        depth -= at[i] == ')' || at[i] == '}';
        if (depth == 0)
            return i + 1;
    }
    return 0;
}

static size_t qualifier_length(const char *at)
{
    return starts(at, " const") ? strlen(" const") : 0;
}

/* A lambda's name but "$_3", which drop_digits() knows. */
static size_t lambda_length(const char *at, size_t *steps)
{
    if (starts(at, "{lambda("))
        return bracket_length(at, steps);
    if (!starts(at, "'lambda"))
        return 0;
    size_t length = strlen("'lambda") + count_digits(at + strlen("'lambda"));
    if (at[length] != '\'')
        return 0;
    length++;
    return length + (at[length] == '(' ? bracket_length(at + length, steps) : 0);
}

/* The brackets of "operator()", which are its name. */
static bool is_call_operator(const char *name, const char *at)
{
    return at - name >= 8 && starts(at - 8, "operator()");
}

/* Parameters of the function around a local name, as in "f(int)::g". */
static size_t drop_outer_parameters(const char *name, const char *at, size_t *steps)
{
    if (*at != '(' || at == name || !(is_name_char(at[-1]) || at[-1] == '>' || at[-1] == ')') ||
        is_call_operator(name, at))
        return 0;
    size_t length = bracket_length(at, steps);
    length += length ? qualifier_length(at + length) : 0;
    return length && starts(at + length, "::") ? length : 0;
}

/* Parameters of a lambda's own function, which end the name. */
static size_t drop_lambda_parameters(const char *name, const char *at, const char *end,
                                     const char *text, size_t text_length, size_t *steps)
{
    static const char call[] = "$_::operator()";
    if (*at != '(' || is_call_operator(name, at))
        return 0;
    size_t length = bracket_length(at, steps);
    length += length ? qualifier_length(at + length) : 0;
    return at + length == end && memmem(text, text_length, call, strlen(call)) ? length : 0;
}

typedef struct Spelling {
    const char *from, *to;
} Spelling;

/* How much of what stands at `at` has another normal spelling; 0: nothing. */
static size_t find_spelling(const char *name, const char *at, size_t *steps, const char **ret_to)
{
    /* `to` is never longer than `from`. */
    static const Spelling spellings[] = {
        {"(anonymous namespace)", "{anonymous}"},
        {"_GLOBAL__N_1", "{anonymous}"},
        {"{{closure}}", "{closure}"},
        {"(anonymous class)", "$_"},
    };
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++)
        if (starts(at, spellings[i].from)) {
            *ret_to = spellings[i].to;
            return strlen(spellings[i].from);
        }
    size_t lambda = lambda_length(at, steps);
    *ret_to = lambda ? "$_" : "";
    if (!lambda && at == name && starts(at, "auto ")) /* a generic lambda's result */
        return strlen("auto ");
    return lambda;
}

static size_t count_dropped(const char *name, const char *at, size_t *steps)
{
    size_t n = drop_counter(name, at);
    n = n ? n : drop_digits(name, at);
    n = n ? n : drop_bracket(at);
    n = n ? n : drop_go_inner(name, at);
    n = n ? n : drop_outer_parameters(name, at, steps);
    return n ? n : drop_blank(name, at);
}

size_t name_normal_function(const char *name, char *ret_text)
{
    const char *end = name + length_without_suffixes(name);
    size_t length = 0, steps = BRACKET_STEPS;
    for (const char *at = name; at < end;) {
        const char *to;
        size_t taken = find_spelling(name, at, &steps, &to);
        if (taken > 0) {
            memcpy(ret_text + length, to, strlen(to));
            length += strlen(to);
        } else {
            taken = count_dropped(name, at, &steps);
            taken = taken ? taken : drop_lambda_parameters(name, at, end, ret_text, length, &steps);
        }
        if (taken > 0)
            at += taken;
        else
            ret_text[length++] = *at++;
    }
    ret_text[length] = '\0';
    return length;
}

size_t name_normal_module(const char *path, char *ret_text)
{
    static const char deleted[] = " (deleted)";
    const char *slash = strrchr(path, '/');
    const char *name = slash && slash[1] ? slash + 1 : path;
    size_t length = strlen(name);
    if (length > sizeof deleted - 1 && strcmp(name + length - (sizeof deleted - 1), deleted) == 0)
        length -= sizeof deleted - 1;
    memcpy(ret_text, name, length);
    ret_text[length] = '\0';

    char *so = strstr(ret_text, ".so");
    if (!so || (so[3] != '\0' && so[3] != '.'))
        return length;
    /* libfoo.so.1.2, and libfoo-1.2.so as glibc once did */
    char *dash = so;
    while (dash > ret_text && (isdigit((unsigned char)dash[-1]) || dash[-1] == '.'))
        dash--;
    if (dash > ret_text + 1 && dash < so && dash[-1] == '-')
        so = dash - 1;
    strcpy(so, ".so");
    return strlen(ret_text);
}
