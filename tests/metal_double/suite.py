"""The tests of the Metal device, all in one process, on a given build of the double."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from metal_double.build import CHECKOUT

TESTS = ("tests/test_tiny.py", "tests/device", "tests/metal")
# Runs all of them on its own.
RUNNER = "tests/metal/test_on_the_double.py"
# What is to be loaded before the program is not for the compilers that tests start.
START = "import os, sys; os.environ.pop('LD_PRELOAD', None); import pytest; sys.exit(pytest.main())"


def run(extension: Path, tests: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run tests on the extension with these variables set; gives pytest's exit status."""
    command = [sys.executable, "-c", START, "-p", "metal_double.plugin", "-n0"]
    here = {"PYTHONPATH": str(CHECKOUT / "tests"), "METAL_DOUBLE": str(extension)}
    return subprocess.run(
        [*command, "-q", f"--ignore={RUNNER}", "-m", "metal or not metal", *tests],
        cwd=CHECKOUT,
        env={**os.environ, **here, **environment},
        check=False,
    ).returncode
