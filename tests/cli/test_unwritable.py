"""Unwritable and missing files are reported in one line, with exit code 2 and no traceback."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

BLOCK = """
import sys


class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "mlx":
            raise ModuleNotFoundError("No module named 'mlx'", name="mlx")


sys.meta_path.insert(0, Block())
"""


def metalbench(folder: Path, *arguments: str, **more: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "metalbench", *arguments],
        cwd=folder,
        env={**os.environ, "METALBENCH_HOME": str(folder / "home"), **more},
        capture_output=True,
        check=False,
        text=True,
    )
    return done.returncode, done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "file").write_text("")
    return tmp_path


full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
proc = pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")


@pytest.mark.parametrize(
    "command",
    [
        ("new", "mine", "--into", "file/inner"),
        ("new", "mine", "--into", "file"),
        ("puzzles", "start", "1", "--into", "file/inner"),
        ("puzzles", "start", "1", "--into", "file", "--python"),
        ("history", "--json", "file/out.json"),
        ("history", "--json", "missing/out.json"),
        ("leaderboard", "--csv", "file/out.csv"),
        ("compile", "file/a.metal"),
        ("run", "relu", "--db", "file/results.db", "--time", "0.01"),
        pytest.param(("new", "mine", "--into", "/proc/mine"), marks=proc),
        pytest.param(("puzzles", "start", "1", "--into", "/proc/mine"), marks=proc),
        pytest.param(("history", "--json", "/proc/out.json"), marks=proc),
        pytest.param(("history", "--json", "/dev/full"), marks=full),
    ],
    ids=" ".join,
)
def test_commands_report_unwritable_places(folder: Path, command: tuple[str, ...]) -> None:
    code, said = metalbench(folder, *command)
    assert code == 2, said
    assert "Traceback" not in said
    assert "Error: " in said
    assert len(said.partition("Error: ")[2].strip().splitlines()) == 1, said


@full
def test_a_device_is_written_to_and_not_replaced(folder: Path) -> None:
    from metalbench.cli.output import write_text

    write_text(Path("/dev/null"), "x")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    assert not Path("/dev/null.part").exists()
    os.mkfifo(folder / "pipe")
    reading = os.open(folder / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_text(folder / "pipe", "text")
    assert os.read(reading, 100) == b"text"
    os.close(reading)
    assert stat.S_ISFIFO((folder / "pipe").stat().st_mode)


@pytest.mark.parametrize(
    "command", [("run", "relu", "--time", "0.01"), ("show", "relu"), ("tune", "relu")], ids=" ".join
)
def test_run_without_mlx_reports_the_missing_package(
    folder: Path, command: tuple[str, ...]
) -> None:
    (folder / "block").mkdir()
    (folder / "block" / "sitecustomize.py").write_text(BLOCK)
    path = os.pathsep.join([str(folder / "block"), os.environ.get("PYTHONPATH", "")])
    code, said = metalbench(folder, *command, PYTHONPATH=path)
    assert code == 2, said
    assert "Traceback" not in said
    assert "mlx" in said.lower()
