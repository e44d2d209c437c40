"""What every test of the command line needs: the command, and a way to call it."""
import os
import subprocess

import pytest

ATTN = os.environ["ATTN_BIN"]


@pytest.fixture
def attn(tmp_path):
    def call(*arguments, status=0, **options):
        environment = {**os.environ, "LC_ALL": "C.UTF-8", **options.pop("env", {})}
        done = subprocess.run([ATTN, *map(str, arguments)], capture_output=True, text=True,
                              cwd=tmp_path, env=environment, timeout=120, **options)
        assert done.returncode == status, f"{arguments}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done
    return call
