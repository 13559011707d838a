// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <microhttpd.h>
#include <stdatomic.h>

#include "web/events.h"
#include "web/guard.h"
#include "web/work_queue.h"

/* From a request to its answer; the callbacks of libmicrohttpd. */

typedef struct HttpSite {
    Guard guard;
    Events *events;
    WorkQueue *queue;
    Hub *hub;
    atomic_bool ticket_used;
    uint64_t ticket_end_ns;         /* monotonic clock */
    atomic_bool stopping;           /* set by server_stop(): what still waits is not computed */
    void (*visited)(void *context); /* an authorised request came; may be NULL */
    void *context;
} HttpSite;

/* An MHD_AccessHandlerCallback and an MHD_RequestCompletedCallback, both with an HttpSite. */
enum MHD_Result http_request_answer(void *site, struct MHD_Connection *connection, const char *url,
                                    const char *method, const char *version,
                                    const char *upload_data, size_t *upload_data_size,
                                    void **request);
void http_request_completed(void *site, struct MHD_Connection *connection, void **request,
                            enum MHD_RequestTerminationCode code);
