// SPDX-License-Identifier: Apache-2.0
#pragma once

/* What api_flame remembers of a process between requests; guarded by the process's lock. */
typedef struct FlameCache FlameCache;

void flame_cache_free(FlameCache *cache);
