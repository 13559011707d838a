// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <microhttpd.h>

#include "web/api.h"
#include "web/assets.h"
#include "web/compress.h"

/*
 * Answers as libmicrohttpd sends them, all with the headers that keep a browser strict. Each queues
 * its answer; MHD_NO (no memory) closes the connection.
 */

/* Compresses a body where that pays; slow, so it is done beside the work, before http_reply_api().
 * The encoding that the body has now. */
Encoding http_reply_compress(ApiReply *reply, Encoding accepted);
/* Takes over what REPLY owns. */
enum MHD_Result http_reply_api(struct MHD_Connection *connection, ApiReply *reply,
                               Encoding encoding);
/* The same for an error, JSON for the API, else a small page of one sentence. */
enum MHD_Result http_reply_error(struct MHD_Connection *connection, bool json, unsigned status,
                                 const char *code, const char *message);
enum MHD_Result http_reply_asset(struct MHD_Connection *connection, const Asset *asset,
                                 Encoding accepted);
/* To the page with its token. */
enum MHD_Result http_reply_redirect(struct MHD_Connection *connection, const char *token);
/* A stream of events; READER and DONE as in MHD_create_response_from_callback(); DONE is
 * called in any case. */
enum MHD_Result http_reply_stream(struct MHD_Connection *connection,
                                  MHD_ContentReaderCallback reader, void *context,
                                  MHD_ContentReaderFreeCallback done);
