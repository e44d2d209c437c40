#!/bin/sh
# Builds two pages: the checker, build/web/attn-check.html, and a model, build/web/attn-model.html: of the checkpoint MODEL, if it is
# set, with TEXT as its first text. Installs nothing: exits with 3 if the toolchain is missing or the sources of the libraries cannot
# be fetched.
set -eu
cd "$(dirname "$0")/.."

missing=
for tool in clang:clang wasm-ld:lld python3:python3; do
  command -v "${tool%:*}" >/dev/null || missing="$missing ${tool#*:}"
done
[ -e /usr/include/wasm32-wasi/stdio.h ] || missing="$missing wasi-libc"
ls /usr/lib/llvm-14/lib/clang/*/lib/wasi/libclang_rt.builtins-wasm32.a >/dev/null 2>&1 || missing="$missing libclang-rt-14-dev-wasm32"
if [ -n "$missing" ]; then
  echo "web: needs$missing; to install: make setup-web" >&2
  exit 3
fi

mkdir -p build/web
exec 9>build/web/.lock
flock 9 # one build at a time
[ build/web/sources/.ready -nt web/fetch.sh ] || { web/fetch.sh build/web/sources >build/web/fetch.log 2>&1 && touch build/web/sources/.ready; } || {
  cat build/web/fetch.log >&2
  echo "web: cannot fetch the sources of PCRE2, utf8proc, jansson and zlib" >&2
  exit 3
}
content="${MODEL:+$(realpath -e "$MODEL")} ${TEXT:-}"
[ -e build/web/CMakeCache.txt ] && [ "$(cat build/web/content 2>/dev/null)" = "$content" ] || {
  cmake -S web -B build/web --toolchain "$PWD/web/wasi.cmake" -DCMAKE_BUILD_TYPE=Release -DATTN_STRICT=ON \
    -DATTN_WEB_SOURCES="$PWD/build/web/sources" -DATTN_WEB_MODEL="${MODEL:+$(realpath "$MODEL")}" -DATTN_WEB_TEXT="${TEXT:-}" >build/web/configure.log 2>&1 ||
    { cat build/web/configure.log; exit 1; }
  echo "$content" >build/web/content
}
cmake --build build/web --parallel "${CMAKE_BUILD_PARALLEL_LEVEL:-2}" >build/web/build.log 2>&1 || { cat build/web/build.log; exit 1; }
ls -s -h --block-size=kB build/web/attn-check.html build/web/attn-model.html
