#!/bin/bash
# Runs a test suite:
#     tools/test.sh all|quick|mutate|fuzz|coverage
#     tools/test.sh long [PART...|--list]     the long suite, in parts that can be resumed: tools/long.sh
# Prints the time of each part. The first failure ends the run with its exit status.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=$(nproc)
export CMAKE_BUILD_PARALLEL_LEVEL=$jobs ATTN_PYTHON="$PWD/build/venv/bin/python"
export ATTN_SEEDS=${ATTN_SEEDS:-$PWD/../shared/seeds}
export CMAKE_GENERATOR=Ninja
python_option=-DATTN_PYTHON=$ATTN_PYTHON
mkdir -p build

part() { # part NAME COMMAND...: runs the command and prints its time
  local name=$1 start=$SECONDS
  shift
  echo "== $name"
  "$@"
  echo "== $name: $((SECONDS - start)) s"
}

build() { # build PRESET [TARGET...]: prints nothing unless it fails
  local preset=$1
  shift
  { cmake --preset "$preset" "$python_option" && cmake --build --preset "$preset" ${1:+--target "$@"}; } \
    >"build/$preset.log" 2>&1 || { grep -v "ld.gold: warning: Cannot export" "build/$preset.log"; return 1; }
}

suite() { # suite PRESET CTEST-OPTION...
  local preset=$1
  shift
  ctest --test-dir "build/$preset" --output-on-failure --no-tests=error -j"$jobs" "$@"
}

fuzzers() { fuzz/run.sh build/debug "${SECONDS_EACH:-10}"; }

web_page() { tools/web.sh || [ $? = 3 ]; } # its test reports what is missing

every_float() { printf '%s\n' tanh exp2 exponential | xargs -P"$jobs" -I{} env build/test/test_{} --all; }

long_part() { # long_part NAME: a part of the long suite, as tools/long.sh lists them
  case $1 in
    rounds)
      part "build (clang)" build clang
      ATTN_ROUNDS=10 part "tests of the C code (clang), ten times the rounds" suite clang -L c
      ;;
    rare)
      part "build (gcc)" build test
      part "rare tests" suite test -L rare
      ;;
    floats)
      part "build (gcc)" build test test_tanh test_exp2 test_exponential
      part "tanh, 2^x and e^x of every float" every_float
      ;;
    fuzz_*)
      part "build (fuzzers)" build debug "$1"
      WORKERS=$jobs part "$1" fuzz/run.sh build/debug "${SECONDS_EACH:-300}" "${1#fuzz_}"
      ;;
    mutations-*) part "mutations, part ${1#*-} of 4" "$ATTN_PYTHON" tools/mutate.py --part "${1#*-}/4" ;;
    *) return 2 ;;
  esac
}

begin_environment() { # installs the Python environment during the builds: it takes two minutes
  make -s setup-test >build/setup.log 2>&1 &
  environment=$!
  trap 'kill "$environment" 2>/dev/null || true' EXIT
}

environment() { # waits for the Python environment; prints its log if it failed
  wait "$environment" || { cat build/setup.log; return 1; }
}

case ${1:-all} in
  quick)
    part "build (gcc, warnings are errors)" build test
    part "quick tests" suite test -LE 'slow|long|rare'
    ;;
  all)
    begin_environment
    part "build (gcc, warnings are errors)" build test
    part "build (clang, warnings are errors; AddressSanitizer, UndefinedBehaviorSanitizer, fuzzers)" build debug
    part "build (ThreadSanitizer)" build tsan threads
    part "Python environment" environment
    part "the checker's page (WebAssembly)" web_page
    part "tests (gcc)" suite test -LE rare
    part "tests of the C code (AddressSanitizer, UndefinedBehaviorSanitizer)" suite debug -L c
    part "tests (ThreadSanitizer)" suite tsan -L threads
    part "fuzzers" fuzzers
    part "mutations (a sample)" "$ATTN_PYTHON" tools/mutate.py --sample 20 --passed
    ;;
  long)
    exec tools/long.sh "${@:2}"
    ;;
  long-part)
    long_part "$2"
    ;;
  mutate)
    part "mutations" "$ATTN_PYTHON" tools/mutate.py
    ;;
  fuzz)
    part "build (fuzzers)" build debug fuzzers
    part "fuzzers" fuzzers
    ;;
  coverage)
    build coverage
    suite coverage -L c
    command -v gcovr >/dev/null && gcovr -r . --object-directory build/coverage src cli ||
      echo "the coverage data is in build/coverage; gcovr prints it"
    ;;
  *)
    echo "usage: tools/test.sh all|quick|long [PART...|--list]|mutate|fuzz|coverage" >&2
    exit 2
    ;;
esac
