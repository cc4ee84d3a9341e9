"""The command by which everybody begins, from kernels that have much to gain."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bad_tunables import write_bad
from click.testing import CliRunner

from agent_steel.cli import main

NAMES = ("relu", "softmax", "sqr_mm")


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_kernel_is_made_faster_by_a_fifth_in_ten_minutes(name: str, tmp_path: Path) -> None:
    """The figure that is promised, at the device's own sizes: on a quiet machine."""
    write_bad(tmp_path, name)
    asked = ["--kernel-name", name, "--loop", "--max-rounds", "5"]
    where = ["--kernels", str(tmp_path), "--db", str(tmp_path / "results.db"), "--device", "cpu"]
    limit = ["--budget-minutes", "10", "--output", "json"]
    done = CliRunner().invoke(main, [*asked, *where, *limit])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["ended"] == "finished"  # and not because the ten minutes were over
    (session,) = found["kernels"]
    assert session["task"] == name
    assert session["gain"] >= 1.2
    kept = [attempt for attempt in session["attempts"] if attempt["fate"] == "kept"]
    assert all(attempt["ratio"]["low"] > 1 for attempt in kept)
    assert session["ended"]
