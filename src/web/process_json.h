// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <jansson.h>

#include "web/hub.h"

/* What /processes and /process say alike. */

/* What finding parents needs to know of a process. */
typedef struct ProcessPlace {
    uint32_t id, pid, parent_pid;
    uint64_t start_ns, last_ns;
    bool ended, broken;
} ProcessPlace;

/* All processes of the hub in order of start; malloc'd. Locks one after the other; none may be
 * held. -ENOMEM. */
int process_places(Hub *hub, ProcessPlace **ret_places, size_t *ret_count);
/* The process that started the one with this id; 0: it is not among them. */
uint32_t process_parent(const ProcessPlace *places, size_t count, uint32_t id);

/* P of docs/API.md for a process being held; NULL: no memory. PARENT_ID 0: none. */
json_t *process_json(const HubProcess *process, uint32_t parent_id);
/* Microseconds, as all times of the API. */
json_t *process_json_time(uint64_t time_ns);
/* {"live_map_full": 3}: without those that are zero. */
json_t *process_json_losses(const Profile *profile);
