"""The package works after pip install . into a new environment."""
import subprocess
import sys
import venv
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
USE = """
import numpy as np, attn
q = np.ones((1, 2, 3, 4), "f4")
assert attn.sdpa(q, q, q, causal=True).shape == (1, 2, 3, 4)
assert attn.library_version() == attn.__version__
assert attn.check("Q = [[1, 0], [0, 1]]\\nK = [[1, 0], [0, 1]]\\nscores = [[1, 0], [0, 1]]\\n")
print(attn.__file__)
"""


def test_pip_install(tmp_path):
    venv.create(tmp_path / "env")
    python = tmp_path / "env" / "bin" / "python"
    # Without optimization and debug information the wheel has the same files, sooner.
    subprocess.run([sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-compile", str(SOURCE), "--config-settings=cmake.build-type=Debug",
                    "--config-settings=cmake.define.CMAKE_C_FLAGS_DEBUG=-O0"], check=True, cwd=tmp_path)
    out = subprocess.run([python, "-c", USE], check=True, capture_output=True, text=True, cwd=tmp_path).stdout
    assert str(tmp_path) in out and sys.version_info
