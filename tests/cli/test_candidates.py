"""`metalbench run FILE.py`: refused files, and their messages."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner, Result

from metalbench.cli import main


def run(folder: Path, text: str, *options: str, name: str = "answer.py") -> Result:
    (folder / name).write_text(text)
    where = ["--device", "cpu", "--db", str(folder / "a.db")]
    return CliRunner().invoke(main, ["run", str(folder / name), *where, *options])


def test_run_refuses_launch_options_for_python_candidates(tmp_path: Path) -> None:
    for option in ("--cold", "--in-process", "--record", "--tuned"):
        told = run(tmp_path, "", "--task", "relu", option)
        assert told.exit_code == 2
        assert f"expected no {option} for a Python candidate" in told.output


def test_a_python_file_is_for_the_task_of_its_name(tmp_path: Path) -> None:
    told = run(tmp_path, "")
    assert told.exit_code == 2
    assert "unknown kernel 'answer'" in told.output
    text = "import os\n\n\ndef relu(x):\n    return os.abs(x)\n"
    told = run(tmp_path, text, name="relu.py")
    assert told.exit_code == 1, told.output
    assert "relu.py:1: imports os; a candidate gets" in told.output
    assert "relu (float32): failed at compile" in told.output
