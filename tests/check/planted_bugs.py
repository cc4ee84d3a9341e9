"""The planted bugs: what the ledger says of each, and where its file marks it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).with_name("planted")
_MARK = re.compile(r"// bug: (\S+)")
# One file with the bug, and its clean twin.
BUGGY, CLEAN = {"BUG": 1}, {"BUG": 0}


@dataclass(frozen=True)
class Planted:
    """One line of the ledger."""

    tool: str
    name: str
    kind: str
    is_found: bool

    @property
    def path(self) -> Path:
        return FOLDER / self.tool / f"{self.name}.metal"

    @property
    def place(self) -> tuple[str, int]:
        """Kind and line of the only mark in its file."""
        lines = self.path.read_text().splitlines()
        ((kind, line),) = (
            (mark[1], number)
            for number, text in enumerate(lines, 1)
            if (mark := _MARK.search(text))
        )
        return kind, line


def ledger() -> list[Planted]:
    """All of them, in the ledger's order."""
    lines = (FOLDER / "ledger.txt").read_text().splitlines()
    planted = []
    for line in lines:
        if not line.startswith("#"):
            tool, name, kind, state = line.split(maxsplit=3)
            assert state == "found" or state.startswith("not yet: "), line
            planted.append(Planted(tool, name, kind, state == "found"))
    return planted
