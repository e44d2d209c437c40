#!/bin/sh
# Fetches the sources of the libraries that the pages need, in Debian's versions: apt verifies their signatures.
#     web/fetch.sh FOLDER
# They are not part of this repository. Uses lists of its own, so that the system's apt stays as it is.
set -eu

folder=$1
packages="pcre2 utf8proc jansson zlib"
mkdir -p "$folder/apt/lists/partial"
cd "$folder"
. /etc/os-release
echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $VERSION_CODENAME main" >apt/sources.list
apt() {
  apt-get -qq -o Dir::Etc::SourceList="$PWD/apt/sources.list" -o Dir::Etc::SourceParts=- -o Dir::State::Lists="$PWD/apt/lists" \
    -o Dir::Cache="$PWD/apt" -o APT::Sandbox::User=root "$@"
}
apt update
# shellcheck disable=SC2086 # a list of words
apt source --download-only $packages
for package in $packages; do
  mkdir -p "$package"
  tar -xf "$package"_*.orig.tar.* -C "$package" --strip-components=1
done
rm -rf apt
