# Every way to build, test and measure Cubby. `make` alone builds the release configuration.

JOBS ?= $(shell nproc)
BUILD := build/release

.PHONY: all setup configure demo test bench lint format asan tsan fuzz install clean

all: configure
	@cmake --build $(BUILD) -j$(JOBS)

setup:
	@scripts/setup-debian.sh

configure: setup
	@test -f $(BUILD)/build.ninja || cmake --preset release

clean:
	rm -rf build
