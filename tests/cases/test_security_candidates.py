"""Python candidates whose verdict must not be FASTER, as `metalbench run FILE` judges them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from metalbench.cli import main
from metalbench.kernel.source_files import library_folder

FOLDER = Path(__file__).parent / "security"
TASKS = {"host_blas_and_dummy_kernel.py": "sqr_mm"}
# The verdict depends on no size, and products of the library's sizes take most of half a minute.
SMALLER = {"n=1024": "n=256", "n=1536": "n=320", "n=2304": "n=384"}


@pytest.mark.parametrize("name", TASKS)
def test_a_case_is_not_faster(name: str, tmp_path: Path) -> None:
    task = (library_folder() / "common" / f"{TASKS[name]}.py").read_text()
    for size, smaller in SMALLER.items():
        task = task.replace(size, smaller)
    (tmp_path / f"{TASKS[name]}.py").write_text(task)
    where = ["--task", TASKS[name], "--kernels", str(tmp_path), "--device", "cpu"]
    kept = ["--time", "0.05", "--db", str(tmp_path / "a.db"), "--json", str(tmp_path / "a.json")]
    done = CliRunner().invoke(main, ["run", str(FOLDER / name), *where, *kept])
    assert done.exit_code == 1, done.output
    assert "FASTER" not in done.output
    (result,) = json.loads((tmp_path / "a.json").read_text())["results"]
    assert (result["status"], result["verdict"]) == ("not by its own kernels", None)
    assert result["failures"][0]["kind"] == "NOT_OWN_WORK"
