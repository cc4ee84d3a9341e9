"""The planted bugs: what the ledger says of each, and where its file marks it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

# Small kernels with a bug and nothing else, and kernels such as people write; of these, those that
# follow reports of other projects, and two sets that no check had seen when they were written.
SETS = tuple(
    Path(__file__).with_name(name)
    for name in ("planted", "realistic", "reported", "unseen", "examined")
)
_MARK = re.compile(r"// bug: (\S+)")
# One file with the bug, and its clean twin.
BUGGY, CLEAN = {"BUG": 1}, {"BUG": 0}


@dataclass(frozen=True)
class Planted:
    """One line of a ledger; `folder` is where that lies."""

    folder: Path
    tool: str
    name: str
    kind: str
    is_found: bool

    @property
    def path(self) -> Path:
        return self.folder / self.tool / f"{self.name}.metal"

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


def ledger(folder: Path) -> list[Planted]:
    """All of a set, in its ledger's order."""
    lines = (folder / "ledger.txt").read_text().splitlines()
    planted = []
    for line in lines:
        if not line.startswith("#"):
            tool, name, kind, state = line.split(maxsplit=3)
            assert state == "found" or state.startswith("not yet: "), line
            planted.append(Planted(folder, tool, name, kind, state == "found"))
    return planted
