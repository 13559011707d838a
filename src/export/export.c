// SPDX-License-Identifier: Apache-2.0
/* The table of formats. To add one: a file with its `const Exporter`, and a row here. */
#include "export/export.h"

#include <string.h>

const Exporter *const export_all[] = {&export_text,      &export_json,  &export_folded,
                                      &export_html,      &export_pprof, &export_speedscope,
                                      &export_heaptrack, NULL};

const Exporter *export_find(const char *name)
{
    for (const Exporter *const *e = export_all; *e; e++)
        if (strcmp((*e)->name, name) == 0)
            return *e;
    return NULL;
}
