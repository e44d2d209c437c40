#!/bin/sh
# Draws the numbers of pages.py in this folder and checks them. (new.sh fills in the places.)
ATTN_SOURCE='@SOURCE@' exec python3 '@AUTHORS@/draw.py' "$(cd "$(dirname "$0")" && pwd)"
