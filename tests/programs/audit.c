// SPDX-License-Identifier: Apache-2.0
/* An LD_AUDIT library that does nothing but be there, with a good part of the
 * static TLS. */
#include <link.h>

static __thread char room[700] __attribute__((tls_model("initial-exec")));
unsigned int la_version(unsigned int version);

unsigned int la_version(unsigned int version)
{
    room[0] = (char)version;
    return LAV_CURRENT;
}
