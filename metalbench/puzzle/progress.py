"""The progress of a learner, in a file next to the store of results."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from metalbench.errors import DeclarationError
from metalbench.foreign_json import read_json
from metalbench.plain_file import replace_file
from metalbench.puzzle.attempt import Attempt
from metalbench.store.location import store_path

FILE_NAME = "puzzles.json"


@dataclass(frozen=True)
class Step:
    """The state of one puzzle: attempts, hints given, and whether it was solved.

    `score` is that of the best solution so far.
    """

    attempts: int = 0
    hints: int = 0
    solved: bool = False
    at_target: bool = False
    score: Mapping[str, int] = field(default_factory=dict)

    def after(self, attempt: Attempt) -> Step:
        """Return the same with one more attempt."""
        step = replace(self, attempts=self.attempts + 1)
        if not attempt.solved or attempt.score is None:
            return step
        counts = dict(attempt.score.counts)
        is_better = not self.score or sum(counts.values()) < sum(self.score.values())
        return replace(
            step,
            solved=True,
            at_target=self.at_target or attempt.at_target,
            score=counts if is_better else self.score,
        )


class Progress:
    """The steps of all puzzles, by their names; every change is written at once."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or store_path().with_name(FILE_NAME)
        self._steps = _read(self.path)

    def of(self, name: str) -> Step:
        """Return the state of a puzzle."""
        return self._steps.get(name, Step())

    def keep(self, name: str, step: Step) -> None:
        """Replace the state of a puzzle, also in the file."""
        self._steps[name] = step
        text = json.dumps({key: asdict(each) for key, each in self._steps.items()}, indent=2)
        replace_file(self.path, text + "\n")


def _read(path: Path) -> dict[str, Step]:
    if not path.exists():
        return {}
    try:
        kept: dict[str, dict[str, Any]] = read_json(path).raw
        return {name: Step(**each) for name, each in kept.items()}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise DeclarationError(
            f"{path}: expected the progress of puzzles, got {error}; remove it to begin anew"
        ) from error
