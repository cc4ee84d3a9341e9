"""KERNELS.md says what the library holds now."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, str(ROOT / "tools" / "kernels_md.py"), "--check"]


def test_the_overview_is_current() -> None:
    done = subprocess.run(COMMAND, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
