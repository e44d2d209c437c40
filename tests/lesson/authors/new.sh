#!/bin/sh
# new.sh FOLDER: a folder for an author, with TASK.md, layouts.py and run.sh.
set -e
here=$(cd "$(dirname "$0")" && pwd)
source=${ATTN_SOURCE:-$(cd "$here/../../.." && pwd)}
mkdir -p "$1"
cp "$here/TASK.md" "$source/tests/lesson/documents/layouts.py" "$1"
sed "s|@SOURCE@|$source|; s|@AUTHORS@|$here|" "$here/run.sh" >"$1/run.sh"
chmod +x "$1/run.sh"
