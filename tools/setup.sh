#!/bin/sh
# Installs what the build or the tests need and this machine lacks.
#     tools/setup.sh build|test
# Prints the Debian packages by name before it installs them; asks for sudo
# where it is not root. Does nothing where nothing is missing.
set -eu

what=${1:-build}
packages="gcc libc6-dev make cmake pkg-config libjansson-dev libutf8proc-dev libpng-dev"
[ "$what" = test ] && packages="$packages clang libclang-rt-14-dev libcmocka-dev libmpfr-dev
  binutils python3 python3-venv man-db"

missing=
for package in $packages; do
  # Another compiler or CMake than Debian's serves as well: what counts is the command.
  case $package in
    gcc | make | cmake | clang | python3) command -v "$package" >/dev/null && continue ;;
    pkg-config) command -v pkg-config >/dev/null && continue ;;
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
