// SPDX-License-Identifier: Apache-2.0
/* /api/v1/processes: all profiles of the hub, each locked for a moment. No state. */
#include <errno.h>
#include <stdlib.h>

#include "export/json_piece.h"
#include "web/api.h"
#include "web/process_json.h"

/* Into one of the two lists. */
static void append(Hub *hub, uint32_t id, uint32_t parent_id, json_t *processes, json_t *broken)
{
    HubProcess *process = hub_glance(hub, id);
    if (!process)
        return;
    if (process->profile)
        json_array_append_new(processes, process_json(process, parent_id));
    else
        json_array_append_new(broken, json_pack("{s:I, s:o, s:o}", "id", (json_int_t)id, "path",
                                                json_name(process->path), "message",
                                                json_name(process->message)));
    hub_release(hub, process);
}

static json_t *folders(Hub *hub)
{
    const char *const *paths;
    size_t count = hub_folders(hub, &paths);
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, json_name(paths[i]));
    return array;
}

int api_processes(Hub *hub, const ApiQuery *query, ApiReply *reply)
{
    ProcessPlace *places;
    size_t count;
    (void)query;
    int r = process_places(hub, &places, &count);
    if (r < 0)
        return r;
    json_t *processes = json_array(), *broken = json_array();
    for (size_t i = 0; i < count; i++)
        append(hub, places[i].id, process_parent(places, count, places[i].id), processes, broken);
    free(places);
    return api_reply_json(reply,
                          json_pack("{s:s, s:o, s:o, s:o}", "memhawk", MEMHAWK_VERSION, "folders",
                                    folders(hub), "processes", processes, "broken", broken));
}
