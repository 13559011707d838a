#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The HTML report in a real Chromium: tests/web/export_html.mjs with the locked playwright-core.
# Usage: test_export_html.sh EXPORT_SAMPLE
# Exit status 77 (skipped, as Meson has it) without a browser or node.
set -eu
sample=$1
web=$(cd "$(dirname "$0")/../web" && pwd)
if ! command -v chromium >/dev/null 2>&1 || ! command -v npm >/dev/null 2>&1; then
    echo "chromium or npm is missing: tools/bootstrap installs them" >&2
    exit 77
fi
if [ ! -d "$web/node_modules/playwright-core" ]; then
    (cd "$web" && npm ci --ignore-scripts --no-audit --no-fund)
fi
exec node "$web/export_html.mjs" "$sample"
