# Every way to build, test and measure Cubby. `make` alone builds the release configuration.

JOBS ?= $(shell nproc)
BUILD := build/release
FUZZ_SECONDS ?= 20

.PHONY: all setup demo test bench lint format asan tsan fuzz install clean

all: setup
	@test -f $(BUILD)/build.ninja || cmake --preset release
	@cmake --build $(BUILD) -j$(JOBS)

setup:
	@scripts/setup-debian.sh

# A Python program in a sandbox of a Debian image that is made here.
demo: all
	@scripts/demo

test: all
	@cd $(BUILD) && ctest --output-on-failure -j$(JOBS)

bench: all
	@$(BUILD)/bin/cubby-bench SPECIFICATION.md

lint: all
	@scripts/lint $(BUILD)

format:
	@git ls-files '*.cc' '*.h' | xargs clang-format -i

# The tests again, built with a sanitizer. Containers need a static agent, which sanitizers do not
# know: their tests are left out, the agent's own run on the host. ThreadSanitizer cannot follow the
# agent at all, and tests its callers with the agent of the release build.
tsan: all
asan tsan: setup
	@test -f build/$@/build.ninja || cmake --preset $@
	@cmake --build build/$@ -j$(JOBS)
	@cd build/$@ && ctest --output-on-failure -j$(JOBS) -LE 'container|e2e'

fuzz: setup
	@test -f build/fuzz/build.ninja || cmake --preset fuzz
	@cmake --build build/fuzz -j$(JOBS) --target fuzz_targets
	@scripts/fuzz build/fuzz $(FUZZ_SECONDS)

install: all
	@cmake --install $(BUILD)

clean:
	rm -rf build
