"""Apple's offline compiler over the library, with a stand-in for `xcrun`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from metalbench.kernel.library import Library

TOOL = Path(__file__).parents[2] / "tools/xcrun_metal.py"
# Writes down how it is called, and fails for one kernel.
XCRUN = """#!/bin/sh
echo "$@" >> "$CALLS"
case "$*" in */gelu.metal*) echo "gelu.metal:3:1: error: no such thing" >&2; exit 1;; esac
"""


def test_every_kernel_is_compiled_in_every_type_and_tuning(tmp_path: Path) -> None:
    xcrun = tmp_path / "xcrun"
    xcrun.write_text(XCRUN)
    xcrun.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    answer = subprocess.run(
        [sys.executable, str(TOOL)],
        env={**os.environ, "PATH": path, "CALLS": str(tmp_path / "calls")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 1, answer.stderr
    assert "gelu (float32, as it is) does not compile:\ngelu.metal:3:1: error" in answer.stdout
    calls = (tmp_path / "calls").read_text().splitlines()
    assert all(call.startswith("-sdk macosx metal -c -std=metal3.1") for call in calls)
    for entry in Library():
        kernel = entry.kernel()
        # One file may be several kernels, by macros of theirs.
        own = [f"-D{name}={value} " for name, (value, *more) in kernel.tunables.items() if not more]
        mine = [
            call
            for call in calls
            if f"/{kernel.path.name} " in call and all(each in call for each in own)
        ]
        others = sum(len(values) - 1 for values in kernel.tunables.values())
        assert len(set(mine)) == len(mine) == len(kernel.dtypes) * (1 + others)
        mode = "relaxed" if kernel.math == "fast" else "safe"
        assert all(f"-fmetal-math-mode={mode} " in call for call in mine)
        for name, values in kernel.tunables.items():
            for value in values:
                assert any(f"-D{name}={value} " in call for call in mine), (name, value)
    assert any("-DDTYPE=bfloat " in call for call in calls)
    good = len(calls) - sum("/gelu.metal " in call for call in calls)
    said = f"{good} of {len(calls)} builds of {len(Library())} kernels compile."
    assert said in answer.stdout
