// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "web/hub.h"

/*
 * The JSON behind `data:` of an event, one line, malloc'd; NULL: no memory, or nothing to tell. A
 * process is given held.
 */
char *event_data_snapshot(const HubProcess *process);
char *event_data_symbols(const HubProcess *process);
char *event_data_ended(const HubProcess *process);
char *event_data_trouble(uint32_t id, const char *message);
