"""The tests that run kernels, with those that synchronise on fibers in place of vectors."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from metalbench.msl.engine import ENGINE_VARIABLE

TESTS = Path(__file__).resolve().parent
FOLDERS = (
    "device",
    "msl",
    "kernels",
    "mlx_kernels",
    "metal_kernel",
    "testing",
    "verify",
    "cheats",
)
FILES = [
    TESTS / "test_tiny.py",
    *(path for folder in FOLDERS for path in sorted((TESTS / folder).rglob("test_*.py"))),
]
TIME_LIMIT_S = 1800


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(TESTS)))
def test_on_fibers(path: Path) -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "pytest", "-n0", "-p", "no:cacheprovider", "-q", str(path)],
        cwd=TESTS.parent,
        env={**os.environ, ENGINE_VARIABLE: "fibers"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=TIME_LIMIT_S,
    )
    # Of some files all tests are slow, and are deselected here.
    if answer.returncode not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        ended = f"{' '.join(answer.args)}\nended with {answer.returncode}:\n{answer.stdout}"
        pytest.fail(ended, pytrace=False)
