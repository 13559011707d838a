#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The HTML report in a real Chromium: tests/web/export_html.mjs with the locked playwright-core.
# Usage: test_export_html.sh EXPORT_SAMPLE
exec "$(dirname "$0")/../web/run" export_html.mjs "$1"
