// SPDX-License-Identifier: Apache-2.0
/* The list of the page's files; a request finds its file here or nowhere. Read-only data. */
#include "web/assets.h"

#include <string.h>

#include "base/bits.h"

extern const unsigned char page_index_html[], page_index_html_end[], page_app_js[],
    page_app_js_end[], page_app_css[], page_app_css_end[], page_icon_svg[], page_icon_svg_end[];

static const Asset assets[] = {
    {"/", "text/html; charset=utf-8", true, page_index_html, page_index_html_end},
    {"/index.html", "text/html; charset=utf-8", true, page_index_html, page_index_html_end},
    {"/app.js", "text/javascript; charset=utf-8", false, page_app_js, page_app_js_end},
    {"/app.css", "text/css; charset=utf-8", false, page_app_css, page_app_css_end},
    {"/icon.svg", "image/svg+xml", false, page_icon_svg, page_icon_svg_end},
};

const Asset *asset_find(const char *path)
{
    for (size_t i = 0; i < ARRAY_SIZE(assets); i++)
        if (strcmp(assets[i].path, path) == 0)
            return &assets[i];
    return NULL;
}
