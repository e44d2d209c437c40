#!/bin/bash
# The suites, by name:
#     tools/test.sh all|quick|long|mutate|fuzz|coverage
# Each part prints its time; the first failure ends the run with its status.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=$(nproc)
export CMAKE_BUILD_PARALLEL_LEVEL=$jobs ATTN_PYTHON="$PWD/build/venv/bin/python"
export ATTN_SEEDS=${ATTN_SEEDS:-$PWD/../shared/seeds}
command -v ninja >/dev/null && export CMAKE_GENERATOR=${CMAKE_GENERATOR:-Ninja} # asks less of the file system
python_option=-DATTN_PYTHON=$ATTN_PYTHON
mkdir -p build

part() { # part NAME COMMAND...: runs it, its output into build/NAME.log where it is only building
  local name=$1 start=$SECONDS
  shift
  echo "== $name"
  "$@"
  echo "== $name: $((SECONDS - start)) s"
}

build() { # build PRESET [TARGET...]: quiet unless it fails
  local preset=$1
  shift
  { cmake --preset "$preset" "$python_option" && cmake --build --preset "$preset" ${1:+--target "$@"}; } \
    >"build/$preset.log" 2>&1 || { cat "build/$preset.log"; return 1; }
}

suite() { # suite PRESET CTEST-OPTION...
  local preset=$1
  shift
  ctest --test-dir "build/$preset" --output-on-failure --no-tests=error -j"$jobs" "$@"
}

build_fuzzers() { build fuzz fuzzers; }
fuzzers() { fuzz/run.sh build/fuzz "${SECONDS_EACH:-10}"; }

environment() { # the Python environment that begin_environment began; its words if it failed
  wait "$environment" || { cat build/setup.log; return 1; }
}

begin_environment() { # beside the builds: to install it takes two minutes
  make -s setup-test >build/setup.log 2>&1 &
  environment=$!
  trap 'kill "$environment" 2>/dev/null || true' EXIT
}

case ${1:-all} in
  quick)
    part "build (gcc, warnings are errors)" build test
    part "quick tests" suite test -LE 'long|rare|mutation'
    ;;
  all)
    begin_environment
    part "build (gcc, warnings are errors)" build test
    part "build (clang, warnings are errors; AddressSanitizer, UndefinedBehaviorSanitizer)" build debug
    part "build (ThreadSanitizer)" build tsan threads
    part "build (fuzzers)" build_fuzzers
    part "Python environment" environment
    part "tests (gcc)" suite test -LE 'rare|mutation'
    part "tests of the C code (AddressSanitizer, UndefinedBehaviorSanitizer)" suite debug -L c
    part "tests (ThreadSanitizer)" suite tsan -L threads
    part "fuzzers" fuzzers
    part "mutations (a sample)" suite test -L mutation --verbose
    ;;
  long)
    part "build (clang)" build clang
    ATTN_ROUNDS=10 part "tests of the C code (clang), ten times the rounds" suite clang -L c
    part "build (gcc)" build test
    part "rare tests" suite test -L rare
    for name in exp2 tanh exponential; do part "$name of every float" "build/test/test_$name" --all; done
    part "build (fuzzers)" build_fuzzers
    SECONDS_EACH=${SECONDS_EACH:-900} part "fuzzers" fuzzers
    part "all mutations" "$ATTN_PYTHON" tools/mutate.py
    ;;
  mutate)
    part "mutations" "$ATTN_PYTHON" tools/mutate.py
    ;;
  fuzz)
    part "build (fuzzers)" build_fuzzers
    part "fuzzers" fuzzers
    ;;
  coverage)
    build coverage
    suite coverage -L c -LE mutation
    command -v gcovr >/dev/null && gcovr -r . --object-directory build/coverage src cli ||
      echo "coverage data lie in build/coverage; gcovr would print them"
    ;;
  *)
    echo "usage: tools/test.sh all|quick|long|mutate|fuzz|coverage" >&2
    exit 2
    ;;
esac
