// SPDX-License-Identifier: Apache-2.0
/*
 * The summary at the end of `memhawk run`. Opens the profiles that are new in the folder, takes the
 * last image of the child (after exec the same pid has several), and shows its totals and the five
 * stacks that make up most of the peak. Stacks count as one when they name the same functions, with
 * allocator plumbing (operator new, xmalloc) and the inside of std:: left out: a row names the
 * program's function that allocates and what it called. The sums are those of all. Cost: reading
 * the profiles and naming their frames, which `memhawk report` would then find in the cache.
 */
#include "cli/run_summary.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bits.h"
#include "cli/cli.h"
#include "cli/session.h"
#include "cli/term.h"
#include "export/call_tree.h"
#include "export/names.h"
#include "export/numbers.h"
#include "export/text_head.h"
#include "profile/liveness.h"

enum { INTERVAL_MIN_MS = 10 };
enum { COLUMN = 23, STACKS_SHOWN = 5, CALLERS_SHOWN = 3, OTHERS_SHOWN = 3, OTHERS_READ_MAX = 2000 };

/* One profile of the run. */
typedef struct Image {
    const char *path;
    uint64_t start_ns, peak_bytes;
    bool is_child; /* of the started program itself */
    bool by_exec;  /* was replaced by another program */
    bool runs;     /* still */
} Image;

typedef struct Images {
    Image *items; /* first that of the child, if it has one, then by their peaks */
    size_t count; /* of those that were read */
    size_t empty; /* files in which there was nothing to read */
} Images;

static void print_count(const char *what, const char *value, const char *more)
{
    fprintf(stderr, "  %-13s %s%s\n", what, value, more);
}

static void print_totals(const Profile *profile)
{
    size_t count = profile_snapshot_count(profile);
    char a[NUMBER_BYTES], b[NUMBER_BYTES], more[3 * NUMBER_BYTES];
    uint64_t peak_ns = 0, start_ns = profile_first_ns(profile);
    int64_t peak = (int64_t)profile_peak(profile, &peak_ns);
    if (!count) {
        fprintf(stderr, "  No snapshot was written: the program was gone before the first.%s\n",
                profile_process(profile)->interval_ms > INTERVAL_MIN_MS
                    ? "\n  With a shorter interval (-i 10) it comes sooner."
                    : "");
        return;
    }
    const Values *total = &profile_snapshot(profile, count - 1)->total;
    const int64_t *v = total->v;
    snprintf(more, sizeof(more), " at %s",
             number_duration(a, peak_ns > start_ns ? peak_ns - start_ns : 0));
    print_count("peak", number_bytes(b, peak), more);
    snprintf(more, sizeof(more), ", %s in total", number_bytes(a, v[METRIC_TOTAL_BYTES]));
    print_count("allocations", number_count(b, v[METRIC_TOTAL_COUNT]), more);
    snprintf(more, sizeof(more), " (%s)",
             number_percent(a, v[METRIC_TEMPORARY], v[METRIC_TOTAL_COUNT]));
    print_count("temporary", number_count(b, v[METRIC_TEMPORARY]), more);
    snprintf(more, sizeof(more), " in %s blocks", number_count(a, v[METRIC_LIVE_COUNT]));
    print_count("live at exit", number_bytes(b, v[METRIC_LIVE_BYTES]), more);
}

/* ---- the stacks of the peak ----------------------------------------------------------------- */

typedef struct Site {
    const uint32_t *path; /* begins with the function of the language's library, if there is one */
    size_t depth;
    bool has_library; /* path[0] is that function: "by std::vector<...>::push_back" */
    int64_t bytes;
} Site;

/* Programs have their own: xmalloc, sqlite3DbMallocRaw, PyObject_Realloc, os::malloc(unsigned
 * long).
 */
static bool is_wrapper(const char *function)
{
    static const char *const words[] = {"malloc", "Malloc",  "calloc",
                                        "Calloc", "realloc", "Realloc"};
    size_t length = strcspn(function, "(");
    if (length != strcspn(function, "(< "))
        return false;
    const char *name = memrchr(function, ':', length);
    name = name ? name + 1 : function;
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        const char *found = strstr(name, words[i]);
        if (found && found < function + length)
            return true;
    }
    return false;
}

static bool is_in_library(const char *name)
{
    static const char *const spaces[] = {
        "std::", "__gnu_cxx::", "core::", "alloc::", "hashbrown::"};
    for (size_t i = 0; i < ARRAY_SIZE(spaces); i++)
        if (strncmp(name, spaces[i], strlen(spaces[i])) == 0)
            return true;
    return false;
}

/* Rust: <alloc::vec::Vec<T> as core::iter::Extend<T>>::extend, and what the library does for the
 * language's own types: <u8 as alloc::vec::spec_from_elem::SpecFromElem>::from_elem. */
static bool is_rust_library(const char *function)
{
    const char *type = function + 1, *as = strstr(type, " as ");
    while (*type == '&' || strncmp(type, "mut ", 4) == 0)
        type += *type == '&' ? 1 : 4;
    if (is_in_library(type))
        return true;
    return as && as > type && !memmem(type, (size_t)(as - type), "::", 2) && is_in_library(as + 4);
}

/* Whether a function belongs to the library of its language, so that its caller is of interest. */
static bool is_library(const char *function)
{
    if (is_wrapper(function))
        return true;
    if (*function == '<')
        return is_rust_library(function);
    const char *end = function + strcspn(function, "<("), *name = function;
    for (const char *p = function; p < end; p++) /* the type that a template returns stands first */
        if (*p == ' ')
            name = p + 1;
    return is_in_library(name);
}

/* Leaves out what the library does inside: the row begins with its function that was called. */
static Site make_site(const View *view, const TreeRow *row)
{
    size_t skip = 0;
    while (skip < row->depth && is_library(tree_label(view, row->path[skip])->function))
        skip++;
    if (skip == row->depth)
        skip = 0;
    size_t first = skip ? skip - 1 : 0;
    return (Site){
        .path = row->path + first,
        .depth = row->depth - first,
        .has_library = skip > 0,
        .bytes = row->values[0]->v[METRIC_LIVE_BYTES],
    };
}

static int compare_paths(const void *a, const void *b)
{
    const Site *x = a, *y = b;
    if (x->depth != y->depth)
        return x->depth < y->depth ? -1 : 1;
    return memcmp(x->path, y->path, x->depth * sizeof(*x->path));
}

static int compare_bytes(const void *a, const void *b)
{
    const Site *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return compare_paths(a, b);
}

/* Merges rows of the view that name the same functions; largest first; free() it. */
static Site *make_sites(const View *view, const TreeRows *rows, size_t *ret_count)
{
    Site *sites = calloc(view->stack_count + 1, sizeof(*sites));
    if (!sites)
        return NULL;
    for (size_t i = 0; i < view->stack_count; i++)
        sites[i] = make_site(view, &rows->rows[i]);
    qsort(sites, view->stack_count, sizeof(*sites), compare_paths);
    size_t count = 0;
    for (size_t i = 0; i < view->stack_count; i++) {
        if (count && compare_paths(&sites[count - 1], &sites[i]) == 0)
            sites[count - 1].bytes += sites[i].bytes;
        else
            sites[count++] = sites[i];
    }
    qsort(sites, count, sizeof(*sites), compare_bytes);
    *ret_count = count;
    return sites;
}

static const char *label_text(const View *view, uint32_t label)
{
    return tree_label(view, label)->function;
}

static void print_frame(const View *view, const char *how, uint32_t label)
{
    fprintf(stderr, "%*s%s ", COLUMN, "", how);
    term_write_name(stderr, label_text(view, label),
                    term_width(STDERR_FILENO) - COLUMN - (unsigned)strlen(how) - 2);
    fputc('\n', stderr);
}

static void print_site(const View *view, const Site *site, int64_t whole)
{
    char percent[NUMBER_BYTES], bytes[NUMBER_BYTES];
    bool color = term_has_color(STDERR_FILENO);
    size_t named = site->has_library ? 1 : 0;
    fprintf(stderr, "  %8s %10s  %s", number_percent(percent, site->bytes, whole),
            number_bytes(bytes, site->bytes), color ? "\033[1m" : "");
    term_write_name(stderr, site->depth ? label_text(view, site->path[named]) : "[no stack]",
                    term_width(STDERR_FILENO) - COLUMN - 1);
    fprintf(stderr, "%s\n", color ? "\033[0m" : "");
    if (site->has_library)
        print_frame(view, "by", site->path[0]);
    for (size_t i = named + 1, shown = 0; i < site->depth && shown < CALLERS_SHOWN; i++) {
        if (site->path[i] == site->path[i - 1]) /* a recursion is shown once */
            continue;
        print_frame(view, "<", site->path[i]);
        shown++;
    }
}

static void print_view(const View *view, const TreeRows *rows)
{
    size_t count = 0;
    char bytes[NUMBER_BYTES];
    int64_t whole = view->total.v[METRIC_LIVE_BYTES];
    Site *sites = make_sites(view, rows, &count);
    if (count && whole > 0)
        fprintf(stderr, "\nThe peak by stack (%s):\n", number_bytes(bytes, whole));
    for (size_t i = 0; i < count && i < STACKS_SHOWN && sites[i].bytes > 0; i++)
        print_site(view, &sites[i], whole);
    free(sites);
}

static void print_sites(Session *session)
{
    View view;
    TreeRows rows;
    const ViewOptions options = {
        .symbolizer = session->symbolizer,
        .metric = METRIC_LIVE_BYTES,
        .at_ns = VIEW_AT_PEAK,
        .granularity = GRANULARITY_FUNCTION,
    };
    if (session_label(session, GRANULARITY_FUNCTION) < 0 ||
        view_build(session->profile, session->labels, &options, &view) < 0)
        return;
    if (tree_rows_of_view(&view, true, &rows) == 0) {
        print_view(&view, &rows);
        tree_rows_done(&rows);
    }
    session_hint_names(session, &view, false);
    view_done(&view);
}

/* ---- which profiles ------------------------------------------------------------------------- */

static bool read_image(const char *path, pid_t pid, Image *ret_image)
{
    Profile *profile;
    ProfileError error;
    uint64_t time_ns;
    int status;
    if (profile_open(path, &profile, &error) < 0)
        return false;
    *ret_image = (Image){
        .path = path,
        .start_ns = profile_process(profile)->start_ns,
        .peak_bytes = profile_peak(profile, &time_ns),
        .is_child = profile_process(profile)->pid == (uint32_t)pid,
        .by_exec = profile_end(profile, &status) == END_EXEC,
        .runs = !profile_is_ended(profile) && liveness_of(profile) == LIVENESS_RUNNING,
    };
    profile_close(profile);
    return true;
}

static int compare_peaks(const void *a, const void *b)
{
    const Image *x = a, *y = b;
    return x->peak_bytes > y->peak_bytes ? -1 : x->peak_bytes < y->peak_bytes;
}

/* Whether A rather than B is the last image of the child: it ended, or was killed: not replaced. */
static bool is_later(const Image *a, const Image *b)
{
    if (a->is_child != b->is_child)
        return a->is_child;
    return a->by_exec != b->by_exec ? b->by_exec : a->start_ns > b->start_ns;
}

static void sort_images(Images *images)
{
    size_t last = 0;
    for (size_t i = 1; i < images->count; i++)
        if (is_later(&images->items[i], &images->items[last]))
            last = i;
    if (images->count && images->items[last].is_child) {
        Image image = images->items[last];
        images->items[last] = images->items[0];
        images->items[0] = image;
        qsort(images->items + 1, images->count - 1, sizeof(image), compare_peaks);
    } else if (images->count) {
        qsort(images->items, images->count, sizeof(*images->items), compare_peaks);
    }
}

static Images read_images(const RunSummary *summary)
{
    char own[32];
    Images images = {.items = calloc(summary->files->count + 1, sizeof(*images.items))};
    snprintf(own, sizeof(own), "_%d_", (int)summary->pid);
    for (size_t i = 0; images.items && i < summary->files->count; i++) {
        const char *path = summary->files->paths[i];
        /* of a build with thousands of processes the child's own are read in any case */
        if (images.count + images.empty >= OTHERS_READ_MAX && !strstr(name_base(path), own))
            continue;
        if (read_image(path, summary->pid, &images.items[images.count]))
            images.count++;
        else
            images.empty++;
    }
    sort_images(&images);
    return images;
}

/* Path as the user would type it: relative when it is in the current folder. */
static const char *short_path(const char *path)
{
    char here[PATH_MAX];
    if (!getcwd(here, sizeof(here)))
        return path;
    size_t length = strlen(here);
    if (strncmp(path, here, length) == 0 && path[length] == '/')
        return path + length + 1;
    return path;
}

/* As a shell reads it. */
static void print_path(const char *path)
{
    NameBuffer word = {0};
    const char *text = name_append_shell(&word, path, !term_has_utf8());
    fputs(text ? text : "?", stderr);
    name_buffer_done(&word);
}

static void print_others(const Images *images, size_t all)
{
    char bytes[NUMBER_BYTES];
    size_t first = images->count && images->items[0].is_child ? 1 : 0, shown = 0;
    size_t others = all - first - images->empty;
    if (others)
        fprintf(stderr, "\nAlso profiled: %zu other process%s or program%s%s\n", others,
                others == 1 ? "" : "es", others == 1 ? "" : "s",
                others > 1 && all <= OTHERS_READ_MAX ? ", by peak:" : ":");
    for (size_t i = first; i < images->count && shown < OTHERS_SHOWN; i++, shown++) {
        const Image *image = &images->items[i];
        fprintf(stderr, "  %10s  ", number_bytes(bytes, (int64_t)image->peak_bytes));
        print_path(short_path(image->path));
        fputs(image->runs ? "  (still running)\n" : "\n", stderr);
    }
    if (others > shown)
        fprintf(stderr, "  and %zu more\n", others - shown);
    if (images->empty)
        fprintf(stderr, "\nNothing to read in %zu profile%s\n", images->empty,
                images->empty == 1 ? "" : "s");
}

static void print_ending(const RunSummary *summary)
{
    char duration[NUMBER_BYTES];
    fputs("\nmemhawk: ", stderr);
    term_write_clean(stderr, name_base(summary->program));
    fprintf(stderr, " (pid %d) ", (int)summary->pid);
    number_duration(duration, summary->duration_ns);
    if (WIFSIGNALED(summary->wait_status))
        fprintf(stderr, "was ended by signal %d (%s) after %s\n", WTERMSIG(summary->wait_status),
                strsignal(WTERMSIG(summary->wait_status)), duration);
    else
        fprintf(stderr, "ended with exit status %d after %s\n", WEXITSTATUS(summary->wait_status),
                duration);
}

static void print_no_profile(const RunSummary *summary)
{
    const char *enabled = getenv("MEMHAWK_ENABLE"), *filter = getenv("MEMHAWK_NAME_FILTER");
    bool off = enabled && strcmp(enabled, "0") == 0;
    cli_warn("%s: no profile was written: %s", summary->folder,
             off ? "MEMHAWK_ENABLE is 0 in the environment"
             : filter && *filter
                 ? "MEMHAWK_NAME_FILTER is set in the environment"
                 : "the program did not load libmemhawk.so, or could not write there");
}

static void print_troubles(const Profile *profile)
{
    const char *warning = profile_process(profile)->warning;
    char *losses = losses_text(profile);
    if (losses && *losses)
        fprintf(stderr, "\nLosses: %s\n", losses);
    if (warning && *warning) {
        fputs("\nWarning: ", stderr);
        term_write_clean(stderr, warning);
        fputc('\n', stderr);
    }
    free(losses);
}

/* The program that the child became has left nothing, so that what is shown is not of it. */
static void print_replaced(const Profile *profile)
{
    const char *name = profile_process(profile)->short_name;
    cli_warn("%s: was replaced by another program (exec) that left no profile: it is static or "
             "setuid, got another environment, or could not write; what follows is of %s",
             name, name);
}

static void print_child(const Image *image, Session *session)
{
    if (session_open(image->path, &(SymbolOptions){0}, session) < 0)
        return;
    if (image->by_exec)
        print_replaced(session->profile);
    fputc('\n', stderr);
    print_totals(session->profile);
    print_sites(session);
}

void run_summary_print(const RunSummary *summary)
{
    Session session = {0};
    print_ending(summary);
    Images images = read_images(summary);
    bool has_child = images.count && images.items[0].is_child;
    if (has_child)
        print_child(&images.items[0], &session);
    else
        print_no_profile(summary);
    print_others(&images, summary->files->count);
    if (session.profile)
        print_troubles(session.profile);
    if (has_child) {
        fputs("\nNext: memhawk report ", stderr);
        print_path(short_path(images.items[0].path));
        fputc('\n', stderr);
    }
    session_close(&session);
    free(images.items);
}
