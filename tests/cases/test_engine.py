"""The cases of engine/: each was a wrong result, a launch that ran nothing, or refused PTX."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CASES = Path(__file__).parent / "engine"


def printed_by(name: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(CASES / name)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def test_aligned_threadgroup_memory_is_shared():
    answer = printed_by("aligned_threadgroup.py")
    assert answer.stdout.splitlines() == ["plain True", "checked True"], answer.stderr


def test_a_grid_that_overflows_is_an_error():
    answer = printed_by("grid_overflow.py")
    assert answer.returncode == 1
    assert "grid: expected at most 2^63 - 1 threads in all, got (2147483648, " in answer.stderr
