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
def test_three_kernels_are_made_faster_by_a_fifth_in_ten_minutes(tmp_path: Path) -> None:
    """The figure that is promised, at the device's own sizes: on a quiet machine."""
    for name in NAMES:
        write_bad(tmp_path, name)
    asked = ["--kernel-name", ",".join(NAMES), "--loop", "--max-rounds", "5"]
    where = ["--kernels", str(tmp_path), "--db", str(tmp_path / "results.db"), "--device", "cpu"]
    limit = ["--budget-minutes", "10", "--output", "json"]
    done = CliRunner().invoke(main, [*asked, *where, *limit])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    gains = {each["task"]: each["gain"] for each in found["kernels"]}
    assert found["ended"] == "finished", gains  # and not because the ten minutes were over
    assert set(gains) == set(NAMES)
    assert min(gains.values()) >= 1.2, gains
    for each in found["kernels"]:
        kept = [attempt for attempt in each["attempts"] if attempt["fate"] == "kept"]
        assert all(attempt["ratio"]["low"] > 1 for attempt in kept)
        assert each["ended"]
