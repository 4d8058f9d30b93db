# The front door. `make help` lists everything.
SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -ec
BUILD ?= build
JOBS  ?= $(shell nproc)
ROOT  := $(if $(filter 0,$(shell id -u)),,sudo)
PYTHON := /usr/bin/python3
export BUILD JOBS

# Taken from the command line only: an environment may have a NAME of its own.
NAME :=
ARGS :=

.PHONY: help packages configure build test demo bench campaign check-loops weights asan tsan format tidy install wheel deb clean

help: ## this list
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

PACKAGES = $(shell sed 's/\#.*//' packages.txt)
PROGRAM_PACKAGES = $(shell sed '/\#/d' packages.txt)
packages: ## install what packages.txt names and is not there yet
	@missing=$$(for p in $(PACKAGES); do dpkg-query -W -f '$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || echo $$p; done); \
	if [ -n "$$missing" ]; then \
	  echo "installing:" $$missing; \
	  $(ROOT) apt-get update -qq && DEBIAN_FRONTEND=noninteractive $(ROOT) apt-get install -y -qq --no-install-recommends $$missing; \
	fi

configure: packages ## configure the build folder, BUILD (default build)
	@[ -f $(BUILD)/build.ninja ] || cmake --preset dev -B $(BUILD) >/dev/null

build: configure ## build everything into build/ (programs in build/bin), benches too
	@ninja -C $(BUILD) -j$(JOBS) all benches

test: configure ## build all but benches, and run the test-suite
	@ninja -C $(BUILD) -j$(JOBS)
	@GTEST_BRIEF=1 ctest --test-dir $(BUILD) --output-on-failure -j$(JOBS)

demo: ## the main job: kernels through a private daemon, live table, HTML report
	@$(MAKE) --no-print-directory configure PACKAGES="$(PROGRAM_PACKAGES)"
	@ninja -C $(BUILD) -j$(JOBS) trident_demo tridentd trident_emu
	@busybox=$$(clients/emu/fetch_busybox.py $(BUILD)/guests) || true; \
	$(BUILD)/bin/trident-demo --report $(BUILD)/demo.html $${busybox:+--busybox $$busybox}

bench: ## run benches: NAME=kernels,slot; without NAME list them
	@$(PYTHON) bench/run.py bench $(NAME) $(ARGS)

campaign: ## run tests too long for `make test`: NAME=fuzz,soak; without NAME list them
	@$(PYTHON) bench/run.py campaign $(NAME) $(ARGS)

check-loops: ## guest loops against Unicorn: 10^7 single instructions and 10^7 random loops, some minutes
	@$(PYTHON) bench/run.py campaign loops $(ARGS)

weights: ## train what is shipped: NAME=guide; without NAME list it
	@$(PYTHON) bench/run.py weights $(NAME) $(ARGS)

asan: packages ## the test-suite under AddressSanitizer and UBSan, in build-asan/
	@cmake --preset asan >/dev/null && ninja -C build-asan -j$(JOBS) && ctest --test-dir build-asan --output-on-failure -j$(JOBS)

tsan: packages ## the test-suite under ThreadSanitizer, in build-tsan/
	@cmake --preset tsan >/dev/null && ninja -C build-tsan -j$(JOBS) && ctest --test-dir build-tsan --output-on-failure -j$(JOBS)

format: ## clang-format in place
	@git ls-files '*.cpp' '*.h' '*.hpp' '*.c' | xargs clang-format -i

tidy: configure ## permitted lists of ops, lines written twice, then clang-tidy over the sources (slow)
	@status=0; $(PYTHON) tests/tidy/op_lists.py || status=1; $(PYTHON) tests/tidy/duplication.py || status=1; \
	git ls-files 'runtime/*.cpp' 'jit/*.cpp' 'daemon/*.cpp' 'clients/*.cpp' | xargs -P $(JOBS) -n 4 clang-tidy -p $(BUILD) --quiet || status=1; \
	exit $$status

install: configure ## install programs, libraries, headers and units under PREFIX (default /usr/local)
	@ninja -C $(BUILD) -j$(JOBS)
	@cmake --install $(BUILD) $(if $(PREFIX),--prefix $(PREFIX),)

WHEEL_PACKAGES = $(shell sed -n 's/ *\#.*make wheel.*//p' packages.txt)
wheel: ## a Python wheel with engine and command inside, in build-package/packages/
	@$(MAKE) --no-print-directory packages PACKAGES="$(PROGRAM_PACKAGES) $(WHEEL_PACKAGES)"
	@[ -f build-package/build.ninja ] || cmake --preset package >/dev/null
	@ninja -C build-package -j$(JOBS) trident trident-engine trident_command trident_call
	@$(PYTHON) packaging/make_wheel.py --build build-package --out build-package/packages --debug build-package/packages/debug

DEB_PACKAGES = $(shell sed -n 's/ *\# make deb$$//p' packages-optional.txt)
deb: ## Debian packages of command, daemon, libraries and Python, in build-package/packages/
	@$(MAKE) --no-print-directory packages PACKAGES="$(PROGRAM_PACKAGES) $(DEB_PACKAGES)"
	@packaging/make_deb build-package build-package/packages

clean: ## remove build folders
	@rm -rf build build-*
