// SPDX-License-Identifier: Apache-2.0
/*
 * `memhawk report --follow`. Looks for new records four times a second and shows the present state:
 * on a terminal as a screen that is drawn again, else as one report for each change. Ends by itself
 * when the file says so or the process is gone and nothing more came; the final report then stays
 * on the terminal. New stacks are named as they come; the rest is in the symbolizer's cache.
 */
#include "cli/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "cli/screen.h"
#include "cli/term.h"
#include "export/numbers.h"
#include "profile/liveness.h"

#define POLL_NS    UINT64_C(250000000)
#define SILENCE_NS UINT64_C(60000000000) /* a process that cannot be looked at counts as gone */

typedef struct Follow {
    Session *session;
    ReportOptions options; /* a copy; keys change it */
    bool at_peak;
    bool ended;
    uint64_t news_ns; /* monotonic */
} Follow;

/* Reads what is new: 1 when there was something, 0, or a negative errno after a problem line. */
static int advance(Follow *follow)
{
    ProfileError error = {0};
    /* first the process, then the file: what it wrote last is not missed */
    Liveness liveness = liveness_of(follow->session->profile);
    int r = profile_advance(follow->session->profile, &error);
    if (r < 0) {
        cli_error("%s: byte %" PRIu64 ": %s", follow->options.path, error.offset,
                  error.message[0] ? error.message : cli_strerror(r));
        return r;
    }
    if (r > 0 && session_label(follow->session, follow->options.granularity) < 0)
        return -EIO;
    if (r > 0)
        follow->news_ns = clock_monotonic_ns();
    bool silent = clock_monotonic_ns() - follow->news_ns > SILENCE_NS;
    follow->ended =
        profile_is_ended(follow->session->profile) ||
        (r == 0 && (liveness == LIVENESS_GONE || (liveness == LIVENESS_UNKNOWN && silent)));
    return r > 0;
}

static int write_report(Follow *follow, FILE *out)
{
    View view;
    follow->options.at = follow->at_peak ? "peak" : "end";
    int r = report_build_view(follow->session, &follow->options, &view);
    if (r < 0)
        return r;
    r = follow->options.exporter->write(&view, out);
    view_done(&view);
    return r;
}

static bool has_snapshot(const Follow *follow)
{
    return profile_snapshot_count(follow->session->profile) > 0;
}

/* ---- no terminal ---------------------------------------------------------------------------- */

static int follow_plain(Follow *follow)
{
    const struct timespec pause = {.tv_nsec = (long)POLL_NS};
    bool is_new = true, first = true;
    for (;;) {
        if (is_new && has_snapshot(follow)) {
            if (!first)
                putchar('\n');
            first = false;
            if (write_report(follow, stdout) < 0 || fflush(stdout) != 0)
                return CLI_FAILED;
        }
        if (follow->ended)
            return CLI_OK;
        nanosleep(&pause, NULL);
        int r = advance(follow);
        if (r < 0)
            return CLI_FAILED;
        is_new = r > 0;
    }
}

/* ---- on a terminal -------------------------------------------------------------------------- */

static void draw(Follow *follow)
{
    const Profile *profile = follow->session->profile;
    const ProfileProcess *process = profile_process(profile);
    uint64_t first_ns = profile_first_ns(profile), last_ns = profile_last_ns(profile);
    char status[512], length[NUMBER_BYTES], *text = NULL;
    size_t size;
    snprintf(status, sizeof(status), "%.15s (%u) %s  %s%s   q quit  m metric  p peak/now  i invert",
             process->short_name, process->pid,
             number_duration(length, last_ns > first_ns ? last_ns - first_ns : 0),
             metric_name(follow->options.metric), follow->at_peak ? " at peak" : "");
    FILE *memory = open_memstream(&text, &size);
    if (!memory)
        return;
    if (has_snapshot(follow))
        write_report(follow, memory);
    else
        fputs("waiting for the first snapshot", memory);
    if (fclose(memory) == 0)
        screen_draw(status, text);
    free(text);
}

/* False to quit. */
static bool take_key(Follow *follow, char key)
{
    if (key == 'q' || key == 'Q')
        return false;
    if (key == 'm')
        follow->options.metric = (follow->options.metric + 1) % METRIC_MAX;
    else if (key == 'M')
        follow->options.metric = (follow->options.metric + METRIC_MAX - 1) % METRIC_MAX;
    else if (key >= '1' && key < '1' + METRIC_MAX)
        follow->options.metric = (Metric)(key - '1');
    else if (key == 'p')
        follow->at_peak = !follow->at_peak;
    else if (key == 'i')
        follow->options.inverted = !follow->options.inverted;
    return true;
}

/* True when the run has ended, false when the user has had enough; negative errno. */
static int follow_screen(Follow *follow)
{
    char key;
    uint64_t due_ns = 0;
    draw(follow);
    for (;;) {
        uint64_t now_ns = clock_monotonic_ns();
        switch (screen_wait(due_ns > now_ns ? due_ns - now_ns : 0, &key)) {
        case SCREEN_QUIT:
            return 0;
        case SCREEN_KEY:
            if (!take_key(follow, key))
                return 0;
            draw(follow);
            break;
        case SCREEN_RESIZE:
            draw(follow);
            break;
        case SCREEN_TIMEOUT:
            due_ns = clock_monotonic_ns() + POLL_NS;
            int r = advance(follow);
            if (r < 0 || follow->ended)
                return r < 0 ? r : 1;
            if (r > 0)
                draw(follow);
            break;
        }
    }
}

static int follow_terminal(Follow *follow)
{
    if (follow->ended) {
        write_report(follow, stdout);
        return CLI_OK;
    }
    int r = screen_open();
    if (r == 0) {
        r = follow_screen(follow);
        screen_close();
    }
    if (r > 0 && has_snapshot(follow))
        write_report(follow, stdout);
    return r < 0 ? CLI_FAILED : CLI_OK;
}

int report_follow(Session *session, const ReportOptions *options)
{
    Follow follow = {.session = session, .options = *options, .news_ns = clock_monotonic_ns()};
    if (session_label(session, options->granularity) < 0)
        return CLI_FAILED;
    int r = advance(&follow);
    if (r < 0)
        return CLI_FAILED;
    int status = isatty(STDOUT_FILENO) ? follow_terminal(&follow) : follow_plain(&follow);
    if (!isatty(STDOUT_FILENO))
        session_warn(session);
    return status;
}
