"""Candidates: a `.metal` file, its text, or a Python file over `mx.fast.metal_kernel`."""

from __future__ import annotations

from pathlib import Path

from metalbench.errors import DeclarationError
from metalbench.kernel import header
from metalbench.puzzle.candidate import Candidate, MetalFile
from metalbench.puzzle.declaration import Puzzle
from metalbench.puzzle.python_file import PythonFile


def read_candidate(puzzle: Puzzle, file: Path | str) -> Candidate:
    """Read a candidate from a file, or from the text of a kernel, which has several lines.

    Raise DeclarationError for a missing file or an unknown file extension.
    """
    if isinstance(file, str) and "\n" in file:
        return MetalFile(puzzle, header.parse(file, name=puzzle.name))
    path = Path(file)
    if not path.is_file():
        raise DeclarationError(
            f"{path}: there is no such file; `metalbench puzzles start {puzzle.number}` writes one "
            "to begin with"
        )
    if path.suffix == ".metal":
        return MetalFile(puzzle, header.read(path, puzzle.name))
    if path.suffix == ".py":
        return PythonFile(puzzle, path)
    raise DeclarationError(f"{path}: expected a .metal or a .py file")
