"""What the README shows works as it stands there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def block(language: str, containing: str) -> str:
    blocks = re.findall(rf"```{language}\n(.*?)```", README.read_text(), re.DOTALL)
    (found,) = [each for each in blocks if containing in each]
    return found


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False)


def test_the_script_runs():
    answer = run("-c", block("python", "_core.open"))
    assert answer.stderr == ""
    assert answer.stdout.startswith("[0. 3. 6. 9.] ")
    assert answer.stdout.endswith(" ns\n")


def test_a_kernel_as_mlx_takes_it():
    answer = run("-c", block("python", "import metal_kernel"))
    assert (answer.stdout, answer.stderr) == ("[ 0.   2.5  5.   7.5 10. ]\n", "")


def test_a_kernel_of_ones_own_takes_two_files(tmp_path):
    (tmp_path / "double.py").write_text(block("python", "def double"))
    (tmp_path / "double.metal").write_text(block("metal", "kernel void twice"))
    options = ("--kernels", str(tmp_path), "--db", str(tmp_path / "results.db"), "--time", "0.1")
    answer = run("-m", "metalbench", "run", "double", *options)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "double  correct" in answer.stdout
