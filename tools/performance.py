#!/usr/bin/env python3
"""Measures with attn bench and writes the table into docs/performance.md: make performance ISA=avx2.

    tools/performance.py ISA [OPTION...]    options of attn bench
"""
import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main():
    isa, options = sys.argv[1], sys.argv[2:]
    page = ROOT / "docs/performance.md"
    command = ["attn", "bench", "--isa", isa, *options]
    before = os.getloadavg()[0]
    done = subprocess.run([ROOT / "build/release/attn", *command[1:]], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(done.returncode)
    table = "\n".join(line.rstrip() for line in done.stdout.splitlines())
    date = time.strftime("%Y-%m-%d", time.gmtime())
    block = (f"<!-- {isa} -->\n{date}; load of the other processes before the run {before:.1f}, of {os.cpu_count()} CPUs.\n\n"
             f"```console\n$ {' '.join(command)}\n{table}\n```\n<!-- end -->")
    text, count = re.subn(rf"<!-- {isa} -->.*?<!-- end -->", lambda _: block, page.read_text(), flags=re.S)
    if count != 1:
        raise SystemExit(f"{page} has no block {isa}")
    page.write_text(text)


main()
