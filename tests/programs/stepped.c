// SPDX-License-Identifier: Apache-2.0
/*
 * A program that does what it is told, one line of standard input after the other, so that a test
 * of the live page knows every figure at every moment. After each line a snapshot is written, and
 * "done TIME" tells the wall clock in ns right after it was.
 *
 *   cache N      N blocks of 1,000 bytes, kept                 main → load_cache → cache_put
 *   drop N       frees the N oldest of them                    main → drop_cache
 *   index N      N blocks of 64 bytes, kept                    main → build_index → insert_node
 *   requests N   N times 300 bytes, taken and given back       main → serve → handle_request
 *   hold K       K KiB in one block, held over a snapshot      main → hold_buffer
 *   nest N       N blocks of 48 bytes, the stack 12 deep       main → nest → … → nest
 *   window N X   the window X, N times: 3 blocks of 40 bytes, one of which stays
 *   whole N X    the same window of the whole process
 *   mark X
 *   fork         a child that keeps 50 blocks of 200 bytes and lives until "reap"
 *   exec         the same, but the child is this program anew, told "cache 7" (pid on "done")
 *   reap         ends all children
 *   quiet N X    the line N times less the snapshots: to load it ("quiet 100 requests 50")
 *   exit S       exit status S; so does the end of input, with 0
 *   crash        SIGSEGV
 *
 * It reads and writes without stdio, which would allocate.
 */
#include <signal.h>
#include <sys/wait.h>

#include "memhawk.h"
#include "trap.h"

enum { CACHE_MAX = 200000, CHILDREN_MAX = 8, NEST = 12 };

static void *cache[CACHE_MAX];
static unsigned cache_first, cache_end;
static struct Node {
    struct Node *next;
    char rest[56];
} * nodes;
static int children[CHILDREN_MAX];
static pid_t child_pids[CHILDREN_MAX];
static unsigned child_count;
static const char *self;

static SITE void *cache_put(void)
{
    return malloc(1000);
}

static SITE void load_cache(long count)
{
    while (count-- > 0 && cache_end < CACHE_MAX)
        cache[cache_end++] = cache_put();
}

static SITE void drop_cache(long count)
{
    while (count-- > 0 && cache_first < cache_end)
        free(cache[cache_first++]);
}

static SITE void insert_node(void)
{
    struct Node *node = malloc(sizeof *node);
    node->next = nodes;
    nodes = node;
}

static SITE void build_index(long count)
{
    while (count-- > 0)
        insert_node();
}

static SITE void handle_request(void)
{
    void *block = malloc(300);
    keep(block);
    free(block);
}

static SITE void serve(long count)
{
    while (count-- > 0)
        handle_request();
}

static SITE void hold_buffer(long kib)
{
    void *block = malloc((size_t)kib << 10);
    keep(block);
    memhawk_snapshot();
    free(block);
}

static SITE void nest(long count, int depth)
{
    if (depth > 1) {
        nest(count, depth - 1);
        keep(&depth);
        return;
    }
    while (count-- > 0)
        keep(malloc(48));
}

static SITE void run_window(long count, const char *name, int scope)
{
    while (count-- > 0) {
        memhawk_window window = memhawk_window_begin(name, scope);
        void *first = malloc(40), *second = malloc(40);
        keep(malloc(40));
        free(second);
        free(first);
        memhawk_window_end(window);
    }
}

static SITE void child_work(void)
{
    for (int i = 0; i < 50; i++)
        keep(malloc(200));
}

/* FORK: the child of a fork; else the child is the program anew. It ends when the pipe does. */
static void make_child(int fork_only)
{
    int ends[2];

    if (child_count == CHILDREN_MAX || pipe(ends) != 0)
        return;
    pid_t pid = fork();
    if (pid == 0) {
        char byte;
        close(ends[1]);
        for (unsigned i = 0; i < child_count; i++)
            close(children[i]);
        if (!fork_only) {
            dup2(ends[0], 0);
            execl(self, self, "child", (char *)NULL);
            _exit(97);
        }
        child_work();
        memhawk_snapshot();
        while (read(ends[0], &byte, 1) > 0)
            ;
        _exit(0);
    }
    close(ends[0]);
    children[child_count] = ends[1];
    child_pids[child_count++] = pid;
    if (!fork_only && write(ends[1], "cache 7\n", 8) != 8)
        return;
}

static void reap(void)
{
    for (; child_count > 0; child_count--) {
        close(children[child_count - 1]);
        waitpid(child_pids[child_count - 1], NULL, 0);
    }
}

static void obey(const char *word, long number, const char *text, const char *rest)
{
    static const struct {
        const char *word;
        void (*act)(long);
    } acts[] = {{"cache", load_cache},
                {"drop", drop_cache},
                {"index", build_index},
                {"requests", serve},
                {"hold", hold_buffer}};
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++) {
        if (strcmp(word, acts[i].word) == 0)
            acts[i].act(number);
    }
    if (strcmp(word, "nest") == 0)
        nest(number, NEST);
    else if (strcmp(word, "window") == 0)
        run_window(number, text, MEMHAWK_THREAD);
    else if (strcmp(word, "whole") == 0)
        run_window(number, text, MEMHAWK_PROCESS);
    else if (strcmp(word, "mark") == 0)
        memhawk_mark(rest);
    else if (strcmp(word, "fork") == 0 || strcmp(word, "exec") == 0)
        make_child(*word == 'f');
    else if (strcmp(word, "reap") == 0)
        reap();
    else if (strcmp(word, "exit") == 0)
        exit((int)number);
    else if (strcmp(word, "crash") == 0)
        raise(SIGSEGV);
}

/* "WORD NUMBER TEXT": the text of a window and the rest of a mark are the same place or one before.
 */
static void run_line(char *line)
{
    char *rest = strchr(line, ' ');
    if (rest)
        *rest++ = 0;
    else
        rest = line + strlen(line);
    char *text = rest;
    long number = strtol(rest, &text, 10);
    if (strcmp(line, "quiet") != 0) {
        obey(line, number, *text == ' ' ? text + 1 : text, rest);
        return;
    }
    while (number-- > 0) {
        char copy[256];
        snprintf(copy, sizeof copy, "%s", text + 1);
        run_line(copy);
    }
}

static ssize_t read_line(char *line, size_t capacity)
{
    size_t length = 0;

    while (length + 1 < capacity && read(0, line + length, 1) == 1) {
        if (line[length++] == '\n') {
            line[length - 1] = 0;
            return (ssize_t)length;
        }
    }
    return -1;
}

int main(int argc, char **argv)
{
    char line[8192];

    (void)argc;
    self = argv[0];
    while (read_line(line, sizeof line) > 0) {
        run_line(line);
        memhawk_snapshot();
        tell(1, "done %llu %d\n", (unsigned long long)wall_ns(),
             child_count ? (int)child_pids[child_count - 1] : 0);
    }
    reap();
    return 0;
}
