// SPDX-License-Identifier: Apache-2.0
/*
 * Profile, symbolizer and labels opened together, and what every verb has to say about them on
 * stderr: damage with its offset, the recorder's own warning, losses, missing names.
 * Single-threaded.
 */
#include "cli/session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "export/names.h"
#include "export/numbers.h"
#include "export/text_head.h"

enum {
    HINT_PERCENT = 25,
    HINT_FRAMES = 5,  /* those that one reads; a thread's start in libstdc++ is no loss */
    FIELD_START = 22, /* starttime in proc(5) */
};
#define START_TOLERANCE_NS UINT64_C(2000000000) /* clock steps, ticks */

static void report_open_error(const char *path, const ProfileError *error, int code)
{
    /* What cannot be opened has no offset; a folder can be opened, but not read. */
    if (code == -ENOENT || code == -EACCES || code == -EISDIR || code == -ENOTDIR)
        cli_error("%s: %s: name a profile (memhawk_*_protobuf.binpb)", path, cli_strerror(code));
    else if (!error->message[0])
        cli_error("%s: %s", path, cli_strerror(code));
    else
        cli_error("%s: byte %" PRIu64 ": %s", path, error->offset, error->message);
}

int session_open(const char *path, const SymbolOptions *options, Session *ret_session)
{
    Session session = {0};
    ProfileError error = {0};
    Progress *progress = progress_begin("reading the profile");
    int r = profile_open(path, &session.profile, &error);
    progress_end(progress);
    if (r < 0) {
        report_open_error(path, &error, r);
        return r;
    }
    r = symbol_open(options, &session.symbolizer);
    if (r < 0) {
        cli_error("symbols: %s", cli_strerror(r));
        profile_close(session.profile);
        return r;
    }
    *ret_session = session;
    return 0;
}

int session_label(Session *session, Granularity granularity)
{
    int r = 0;
    Progress *progress = progress_begin("reading debug information");
    if (!session->labels)
        r = labels_new(session->profile, session->symbolizer, granularity, &session->labels);
    if (r >= 0)
        r = labels_update(session->labels);
    progress_end(progress);
    if (r < 0)
        cli_error("symbols: %s", cli_strerror(r));
    return r < 0 ? r : 0;
}

void session_close(Session *session)
{
    if (session->labels)
        labels_free(session->labels);
    if (session->symbolizer)
        symbol_close(session->symbolizer);
    if (session->profile)
        profile_close(session->profile);
    *session = (Session){0};
}

/* Fields of /proc/PID/stat: the letter of the state and the start in ns on the wall clock. */
static int read_process(uint32_t pid, char *ret_state, uint64_t *ret_start_ns)
{
    char path[64], line[1024];
    unsigned long long ticks = 0;
    snprintf(path, sizeof(path), "/proc/%u/stat", pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return -errno;
    /* "4711 (name) S 4710 ...": the name may hold anything, so look from the end */
    const char *field = fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
    fclose(file);
    if (!field || field[1] != ' ')
        return -EIO;
    *ret_state = field[2];
    for (int i = 2; field && i < FIELD_START; i++)
        field = strchr(field + 1, ' ');
    if (!field)
        return -EIO;
    ticks = strtoull(field, NULL, 10);
    uint64_t boot_ns = clock_wall_ns() - clock_ns(CLOCK_BOOTTIME);
    *ret_start_ns = boot_ns + ticks * (UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK));
    return 0;
}

Liveness session_liveness(const Profile *profile)
{
    const ProfileProcess *process = profile_process(profile);
    char host[256] = "", state = 'X';
    uint64_t start_ns = 0;
    if (profile_is_ended(profile))
        return LIVENESS_GONE;
    if (gethostname(host, sizeof(host) - 1) < 0 ||
        (process->host_name && *process->host_name && strcmp(host, process->host_name) != 0))
        return LIVENESS_UNKNOWN;
    if (read_process(process->pid, &state, &start_ns) < 0 || state == 'Z' || state == 'X')
        return LIVENESS_GONE;
    /* a process that began later has only the same number */
    return start_ns <= process->start_ns + START_TOLERANCE_NS ? LIVENESS_RUNNING : LIVENESS_GONE;
}

/* The file does not say how the run ended. */
static void describe_open_end(const Profile *profile, char *ret_text, size_t size)
{
    switch (session_liveness(profile)) {
    case LIVENESS_RUNNING:
        snprintf(ret_text, size, "still running");
        return;
    case LIVENESS_GONE:
        snprintf(ret_text, size, "not known (killed, or the file is cut off)");
        return;
    case LIVENESS_UNKNOWN:
        snprintf(ret_text, size, "not known (it ran on %s)", profile_process(profile)->host_name);
        return;
    }
}

void session_end(const Profile *profile, char *ret_text, size_t size)
{
    int status = 0;
    switch (profile_end(profile, &status)) {
    case END_EXIT:
        if (status < 0) /* the recorder cannot always tell */
            snprintf(ret_text, size, "exit, status not recorded");
        else
            snprintf(ret_text, size, "exit status %d", status);
        return;
    case END_UNDERSCORE_EXIT:
        snprintf(ret_text, size, "exit status %d by _exit", status);
        return;
    case END_QUICK_EXIT:
        snprintf(ret_text, size, "exit status %d by quick_exit", status);
        return;
    case END_EXEC:
        snprintf(ret_text, size, "replaced by another program (exec)");
        return;
    case END_SIGNAL:
        snprintf(ret_text, size, "signal %d (%s)", status, strsignal(status));
        return;
    case END_ABORT:
        snprintf(ret_text, size, "abort");
        return;
    case END_UNKNOWN:
        break;
    }
    describe_open_end(profile, ret_text, size);
}

void session_warn(const Session *session)
{
    const Profile *profile = session->profile;
    const ProfileError *damage = profile_damage(profile);
    const char *warning = profile_process(profile)->warning;
    char *losses = losses_text(profile);
    if (damage)
        cli_warn("%s: byte %" PRIu64 ": %s", profile_path(profile), damage->offset,
                 damage->message);
    if (warning && *warning)
        cli_warn("%s: %s", profile_path(profile), warning);
    if (losses && *losses)
        cli_warn("%s: losses: %s", profile_path(profile), losses);
    free(losses);
}

/* The module with the most value in paths whose inner frames hold a nameless one of it. */
static uint32_t worst_module(const View *view, int64_t *ret_nameless, int64_t *ret_whole)
{
    size_t count = profile_module_count(view->profile);
    int64_t *by_module = calloc(count + 1, sizeof(*by_module));
    uint32_t worst = ID_NONE;
    if (!by_module)
        return ID_NONE;
    for (size_t i = 0; i < view->stack_count; i++) {
        const ViewStack *row = &view->stacks[i];
        int64_t value = row->values.v[view->metric] + row->removed.v[view->metric];
        const uint32_t *path;
        size_t depth = labels_path(view->labels, row->stack, &path);
        *ret_whole += value;
        for (size_t k = 0; k < depth && k < HINT_FRAMES; k++) {
            const Label *label = labels_get(view->labels, path[k]);
            if (label->known || label->module_index >= count)
                continue;
            *ret_nameless += value;
            by_module[label->module_index] += value;
            break;
        }
    }
    for (uint32_t i = 0; i < count; i++)
        if (by_module[i] && (worst == ID_NONE || by_module[i] > by_module[worst]))
            worst = i;
    free(by_module);
    return worst;
}

void session_hint_names(const Session *session, const View *view, bool debuginfod)
{
    int64_t nameless = 0, whole = 0;
    uint32_t worst = worst_module(view, &nameless, &whole);
    if (worst == ID_NONE || whole <= 0 || nameless * 100 < whole * HINT_PERCENT)
        return;
    const ProfileModule *module = profile_module(session->profile, worst);
    const char *path;
    bool missing =
        symbol_source(session->symbolizer, session->profile, worst, &path) == SYMBOL_NONE;
    char percent[NUMBER_BYTES];
    cli_warn("%s of this passes through code without names, most in %s: %s%s",
             number_percent(percent, nameless, whole), name_base(module->path),
             missing ? "that file is not here as it was; give --sysroot"
                     : "install its debug symbols",
             debuginfod ? "" : " or try --debuginfod");
}
