// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>

/*
 * Swift names, by the `swift-demangle` of a Swift installation in $PATH, which runs beside us and
 * is fed one name a line; without it they stay mangled. symbol_demangle() (symbol.h) calls these.
 */
bool demangle_swift_is(const char *raw);
/* malloc'd, NULL: no demangler, or it does not know the name. */
char *demangle_swift(const char *raw);
