"""Puzzles, and commands about them that keep their progress in a separate folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from steady_path import tmp_path

from metalbench.cli import main
from metalbench.puzzle.puzzle import Puzzle

__all__ = ["tmp_path"]

SOLUTIONS = Path(__file__).parent / "solutions"


@pytest.fixture
def solution() -> Callable[[Puzzle], Path]:
    """Return the path of the solution of a puzzle."""
    return lambda puzzle: SOLUTIONS / f"{puzzle.stem}.metal"


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Run `metalbench puzzles` in an empty folder."""
    monkeypatch.setenv("METALBENCH_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(main, ["puzzles", *map(str, arguments)])
