// SPDX-License-Identifier: Apache-2.0
/*
 * Blocks over 4 GiB, never touched: sizes are not cut to 32 bits.
 *
 *   //! needs memory-gb 8
 *   //! site site_five count=2 bytes=10737418240 live_count=0 temporary=2
 *   //! site site_six count=1 bytes=6442450944 live_count=1
 * live_bytes=6442450944
 *   //! site site_moved count=2 bytes=11274289152 live_count=1
 * live_bytes=6442450944
 *   //! peak bytes=12884901888
 */
#include "trap.h"

SITE static void site_five(void)
{
    for (int i = 0; i < 2; i++) {
        void *p = i ? calloc(5, 1ul << 30) : malloc(5ul << 30);

        CHECK(p);
        free(p);
    }
}

SITE static void site_six(void)
{
    CHECK(memalign(1 << 20, 6ul << 30));
}

SITE static void site_moved(void)
{
    void *p = malloc((4ul << 30) + (512ul << 20));

    CHECK((p = realloc(p, 6ul << 30)));
}

int main(void)
{
    site_five();
    site_six();
    site_moved();
    return 0;
}
