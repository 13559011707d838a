// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>

/*
 * Opens URL in the user's browser: $BROWSER, or xdg-open where there is a display. The browser is
 * on its own: not our child, no terminal, no descriptor of ours. Does not wait. False: there is no
 * browser to be expected here.
 */
bool view_open(const char *url);
