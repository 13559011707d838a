# SPDX-License-Identifier: Apache-2.0
# The front door. The build itself is Meson's (meson.build in each folder); see CONTRIBUTING.md.
#
#   make            build into build/            make test     everything that CI runs
#   make demo       profile a real program       make check    the quick part of it
#   make stage      dist/memhawk, ready to ship  make bench    measure against plain and heaptrack
#   make install    PREFIX=/usr/local DESTDIR=   make clean
#   make screenshots   pictures of the live page, for README.md
#
# Each first installs the packages that are missing (tools/bootstrap).

BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=
STAGE := dist/memhawk

.PHONY: all bootstrap build stage install demo screenshots test check bench clean

all: build

bootstrap:
	@tools/bootstrap

# prefix=/ makes the installed tree relocatable: bin, lib, include and share side by side.
LAYOUT := --prefix=/ --libdir=lib --sysconfdir=etc
HAS_LAYOUT = meson introspect --buildoptions $(BUILD) | python3 -c 'import json, sys; \
	o = {x["name"]: x["value"] for x in json.load(sys.stdin)}; \
	sys.exit((o["prefix"], o["libdir"], o["bindir"]) != ("/", "lib", "bin"))'

$(BUILD)/build.ninja: | bootstrap
	meson setup $(BUILD) $(LAYOUT)

build: bootstrap $(BUILD)/build.ninja
	@ninja -C $(BUILD)

# What is tested is what is shipped: the same objects, less their debug sections. The symbol tables
# stay, so that our own frames have names in other people's tools.
stage: build
	@$(HAS_LAYOUT) || { echo "stage: $(BUILD) was set up with another layout: now $(LAYOUT)" && \
		meson configure $(BUILD) $(LAYOUT) --bindir=bin && ninja -C $(BUILD); }
	@rm -rf $(STAGE) && mkdir -p $(STAGE)
	@meson install -C $(BUILD) --no-rebuild --quiet --destdir $(abspath $(STAGE))
	@strip --strip-debug $(STAGE)/lib/libmemhawk.so $(STAGE)/bin/memhawk
	@mkdir -p $(STAGE)/share/doc/memhawk
	@cp LICENSE README.md $(wildcard docs/*.md) $(STAGE)/share/doc/memhawk/
	@if [ -n "$$(ls -A monitoring 2>/dev/null)" ]; then cp -R monitoring $(STAGE)/; fi
	@echo "staged $(STAGE): $$(cd $(STAGE) && find . -type f | wc -l) files, $$(du -sh $(STAGE) | cut -f1)"

install: stage
	@mkdir -p "$(DESTDIR)$(PREFIX)"
	@cp -R --no-dereference --preserve=mode,links $(STAGE)/. "$(DESTDIR)$(PREFIX)/"
	@echo "installed below $(DESTDIR)$(PREFIX)"

demo: stage
	@tools/demo

screenshots: build
	@BUILD=$(BUILD) tools/screenshots

test: bootstrap
	@tools/test

check: build
	@meson test -C $(BUILD) --no-rebuild --print-errorlogs --suite lint --suite unit --suite cli

bench: build
	@bench/run --build $(BUILD)

clean:
	rm -rf $(BUILD) dist bench/out
