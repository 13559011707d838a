// SPDX-License-Identifier: Apache-2.0
/*
 * /api/v1/download: what `memhawk report` would write, from the same exporters, made in memory; and
 * the profile file itself, which is not: its first bytes are sent from the file, as many as the
 * model has read, so that what arrives ends with a whole record. It is the file that the model
 * reads, not what its path has by now. No state.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "export/export.h"
#include "export/names.h"
#include "web/api.h"
#include "web/query.h"
#include "web/selection.h"

/* The file that is followed, though it was removed since, or another one has its path; NULL with
 * errno: it became shorter than SIZE, or worse. */
static FILE *open_file(const Profile *profile, uint64_t size)
{
    struct stat st;
    int fd = profile_reopen(profile);
    if (fd < 0) {
        errno = -fd;
        return NULL;
    }
    bool fits = fstat(fd, &st) == 0 && (uint64_t)st.st_size >= size;
    FILE *file = fits ? fdopen(fd, "r") : NULL;
    if (!file) {
        close(fd);
        errno = fits ? ENOMEM : ESTALE;
    }
    return file;
}

static int reply_profile(const HubProcess *process, ApiReply *reply)
{
    uint64_t size = profile_file_bytes(process->profile);
    FILE *file = open_file(process->profile, size);
    if (!file)
        return api_fail(reply, 404, "not-found", "%s: %s", process->path, strerror(errno));
    reply->file = file;
    reply->size = size;
    reply->type = "application/octet-stream";
    reply->file_name = strdup(name_base(process->path));
    return reply->file_name ? 0 : -ENOMEM;
}

static const char *media_type(const Exporter *exporter)
{
    if (exporter->binary)
        return "application/octet-stream";
    if (strstr(exporter->extension, "html"))
        return "text/html; charset=utf-8";
    return strstr(exporter->extension, "json") ? "application/json" : "text/plain; charset=utf-8";
}

static int write_body(const Exporter *exporter, const View *view, ApiReply *reply)
{
    char *body = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&body, &size);
    if (!out)
        return -ENOMEM;
    int r = exporter->write(view, out);
    if (fclose(out) != 0 && r >= 0)
        r = -ENOMEM;
    if (r < 0) {
        free(body);
        return r;
    }
    reply->body = body;
    reply->size = size;
    reply->type = media_type(exporter);
    return 0;
}

static int reply_export(const HubProcess *process, const Exporter *exporter,
                        const Selection *selection, ApiReply *reply)
{
    const ProfileProcess *about = profile_process(process->profile);
    View view;
    if (!selection_view(selection, process, reply, &view))
        return 0;
    int r = write_body(exporter, &view, reply);
    view_done(&view);
    if (r >= 0 && asprintf(&reply->file_name, "%s-%u.%s", about->short_name, about->pid,
                           exporter->extension) < 0) {
        reply->file_name = NULL;
        r = -ENOMEM;
    }
    return r;
}

int api_download(Hub *hub, const ApiQuery *query, ApiReply *reply)
{
    const char *format = api_query_get(query, "format");
    const Exporter *exporter = format ? export_find(format) : NULL;
    bool whole_file = format && strcmp(format, "binpb") == 0;
    Selection selection;
    if (!exporter && !whole_file)
        return api_fail(reply, 400, "bad-request", "format: %s: process lists the formats",
                        format ? "no such format" : "is missing");
    if (!selection_parse(query, reply, &selection))
        return 0;
    if (selection.window && exporter == &export_heaptrack)
        return api_fail(reply, 400, "bad-request", "format: heaptrack files hold whole runs");
    HubProcess *process = query_acquire(hub, query, reply, "id");
    if (!process)
        return 0;
    int r = whole_file ? reply_profile(process, reply)
                       : reply_export(process, exporter, &selection, reply);
    hub_release(hub, process);
    return r;
}
