// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stddef.h>

/* The parts of html/page.html around the title and the data; made by html/embed.py. */
extern const char html_page_head[], html_page_middle[], html_page_tail[];
extern const size_t html_page_head_bytes, html_page_middle_bytes, html_page_tail_bytes;
