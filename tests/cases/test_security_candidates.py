"""Python candidates whose verdict must not be FASTER, as `metalbench run FILE` judges them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from metalbench.cli import main

FOLDER = Path(__file__).parent / "security"
TASKS = {"host_blas_and_dummy_kernel.py": "sqr_mm"}


@pytest.mark.parametrize("name", TASKS)
def test_a_case_is_not_faster(name: str, tmp_path: Path) -> None:
    where = ["--task", TASKS[name], "--device", "cpu", "--time", "0.05"]
    kept = ["--db", str(tmp_path / "a.db"), "--json", str(tmp_path / "a.json")]
    done = CliRunner().invoke(main, ["run", str(FOLDER / name), *where, *kept])
    assert done.exit_code == 1, done.output
    assert "FASTER" not in done.output
    (result,) = json.loads((tmp_path / "a.json").read_text())["results"]
    assert (result["status"], result["verdict"]) == ("not by its own kernels", None)
    assert result["failures"][0]["kind"] == "NOT_OWN_WORK"
