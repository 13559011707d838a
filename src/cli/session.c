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
#include <sys/stat.h>

#include "cli/cli.h"
#include "cli/progress.h"
#include "export/names.h"
#include "export/numbers.h"
#include "export/text_head.h"

enum {
    HINT_PERCENT = 25,
    HINT_FRAMES = 5, /* those that one reads; a thread's start in libstdc++ is no loss */
};

static void report_open_error(const char *path, const ProfileError *error, int code)
{
    struct stat st; /* what cannot be opened has no offset */
    bool is_other = code != -ENOENT && stat(path, &st) == 0 && !S_ISREG(st.st_mode);
    if (is_other && S_ISDIR(st.st_mode))
        cli_error("%s: is a folder: name a profile in it (memhawk_*_protobuf.binpb)", path);
    else if (is_other)
        cli_error("%s: is no regular file: name a profile (memhawk_*_protobuf.binpb)", path);
    else if (code == -ENOENT || code == -EACCES || code == -EISDIR || code == -ENOTDIR)
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
    const char *servers = getenv("DEBUGINFOD_URLS");
    static bool told; /* diff opens two */
    if (options->debuginfod && !(servers && *servers) && !told) {
        cli_warn("--debuginfod: DEBUGINFOD_URLS is not set, so there is no server to ask");
        told = true;
    }
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
