"""The puzzles there are, read from their files: NN_name.py, NN_name.metal and NN_name.md."""

from __future__ import annotations

import re
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from metalbench.errors import DeclarationError, suggestion
from metalbench.kernel import header
from metalbench.kernel.installed import data_folder
from metalbench.puzzle.declaration import Declared, Puzzle

HINT, NEXT = "Hint", "Next"
_FILE = re.compile(r"(\d\d)_(\w+)\.py")
_SECTION = re.compile(r"^## ", re.MULTILINE)


@cache
def series() -> tuple[Puzzle, ...]:
    """Return all puzzles, in their order. Raise DeclarationError if the folder is not there."""
    folder = data_folder("puzzles", "01_map.py")
    return tuple(_read(path) for path in sorted(folder.glob("[0-9][0-9]_*.py")))


def find(which: str | int) -> Puzzle:
    """Return a puzzle by its number or name; DeclarationError if there is none."""
    name = str(which).lower()
    puzzles = series()
    for each in puzzles:
        if name in (each.name, each.stem) or (name.isdigit() and int(name) == each.number):
            return each
    if name.isdigit():
        raise DeclarationError(f"puzzle {which}: expected 1 to {len(puzzles)}")
    raise DeclarationError(
        f"puzzle {which!r}: no such puzzle; {suggestion(name, [each.name for each in puzzles])}"
    )


def _read(path: Path) -> Puzzle:
    named = _FILE.fullmatch(path.name)
    if named is None:
        raise DeclarationError(f"{path}: expected a name such as 03_guard.py")
    number, name = int(named[1]), named[2]
    declared = _load_declaration(path)
    title, statement, hints, following = _read_statement(path.with_suffix(".md"))
    return Puzzle(
        number=number,
        name=name,
        title=title,
        statement=statement,
        hints=hints,
        following=following,
        skeleton=header.read(path.with_suffix(".metal"), name),
        task=declared.task(name, title),
        target=declared.target,
    )


def _load_declaration(path: Path) -> Declared:
    spec = spec_from_file_location(f"metalbench_puzzles.{path.stem}", path)
    if spec is None or spec.loader is None:
        raise DeclarationError(f"{path} is not a Python file")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    found = getattr(module, "reference", None)
    if not isinstance(found, Declared):
        raise DeclarationError(f"{path}: expected a function `reference` under @puzzle(...)")
    return found


def _read_statement(path: Path) -> tuple[str, str, tuple[str, ...], str]:
    """Title, statement, hints and what comes next."""
    first, *sections = _SECTION.split(path.read_text(encoding="utf-8"))
    title, _, task = first.removeprefix("# ").partition("\n")
    statement, hints, following = [task.strip()], [], ""
    for section in sections:
        name, _, text = section.partition("\n")
        if name == HINT:
            hints.append(text.strip("\n"))
        elif name == NEXT:
            following = text.strip()
        else:
            statement.append(f"## {name}\n{text.rstrip()}")
    return title.strip(), "\n\n".join(statement), tuple(hints), following
