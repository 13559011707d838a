// SPDX-License-Identifier: Apache-2.0
#include "web/flame_cache.h"

#include <stdlib.h>

void flame_cache_free(FlameCache *cache)
{
    free(cache);
}
