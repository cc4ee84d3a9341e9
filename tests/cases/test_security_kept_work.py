"""Kernels that keep work between passes, from their files to the verdict of `metalbench run`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from metalbench.cli import main

CASES = Path(__file__).parent / "security"


@pytest.mark.whole
@pytest.mark.parametrize(
    "case", ["detects_checked_build", pytest.param("kept_by_exchange", marks=pytest.mark.slow)]
)
def test_run_rejects_kept_work(case: str, tmp_path: Path) -> None:
    # A shorter time has few audits, which other load can disturb.
    options = ["--time", "0.3", "--json", "-", "--db", str(tmp_path / "results.db")]
    answer = CliRunner().invoke(main, ["run", "sqr_mm", "--kernels", str(CASES / case), *options])
    (result,) = json.loads(answer.stdout)["results"]
    assert answer.exit_code == 1, json.dumps(result)
    assert result["status"] != "correct"
    assert {each["kind"] for each in result["failures"]} == {"LESS_WORK"}
    assert result.get("measurement") is None
