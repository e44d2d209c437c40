#!/bin/sh
# Installs the missing Debian packages of the build, of the tests, of the tests of pages or of the checker's page, with sudo unless
# root, after printing their names; or axe-core, which checks the accessibility of pages, in build/axe by npm.
#     tools/setup.sh build|test|browser|web|axe
set -eu

what=${1:-build}

axe_version=4.14.1
axe_sha256=29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c
if [ "$what" = axe ]; then
  cd "$(dirname "$0")/.."
  has_axe() { echo "$axe_sha256  build/axe/package/axe.min.js" | sha256sum --check --status 2>/dev/null; }
  has_axe && exit 0
  command -v npm >/dev/null || { echo "setup: no npm" >&2; exit 3; }
  mkdir -p build/axe
  (cd build/axe && npm pack --silent "axe-core@$axe_version" >/dev/null && tar xzf "axe-core-$axe_version.tgz" package/axe.min.js)
  has_axe && exit 0
  rm -f build/axe/package/axe.min.js
  echo "setup: axe-core $axe_version could not be fetched, or is not what it was" >&2
  exit 1
fi
packages="gcc libc6-dev make cmake pkg-config libjansson-dev libutf8proc-dev libpng-dev zlib1g-dev libpcre2-dev"
[ "$what" = test ] && packages="$packages clang libclang-rt-14-dev libcmocka-dev libmpfr-dev
  ninja-build binutils python3 python3-venv man-db gettext"
[ "$what" = browser ] && packages="chromium-headless-shell" # of the tests of pages: half the CPU time of chromium
[ "$what" = web ] && packages="clang lld wasi-libc libclang-rt-14-dev-wasm32 cmake make python3" # 8 MB with clang and cmake there

missing=
for package in $packages; do
  # A compiler or CMake from elsewhere is fine, as long as the command exists.
  case $package in
    gcc | make | cmake | clang | python3) command -v "$package" >/dev/null && continue ;;
    ninja-build) command -v ninja >/dev/null && continue ;;
    pkg-config) command -v pkg-config >/dev/null && continue ;;
    gettext) command -v msgfmt >/dev/null && continue ;;
    man-db) command -v man >/dev/null && continue ;;
  esac
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing="$missing $package"
done
[ -z "$missing" ] && exit 0

if ! command -v apt-get >/dev/null; then
  echo "setup: this system has no apt-get; please install the equivalents of:$missing" >&2
  exit 1
fi
sudo=
if [ "$(id -u)" -ne 0 ]; then
  sudo=sudo
  command -v sudo >/dev/null || {
    echo "setup: not root and no sudo; please run: apt-get install$missing" >&2
    exit 1
  }
fi
echo "setup: installing Debian packages:$missing"
$sudo apt-get update -qq
# shellcheck disable=SC2086 # a list of words
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
