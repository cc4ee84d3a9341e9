"""A scripted model that answers each problem's samples as a table says, over real HTTP."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import samples
from click.testing import CliRunner, Result
from steel.model_server import Asked, Step, refuses, says

from metalbench.cli import main

ANSWERS = {
    "right": says(f"Here it is.\n{samples.FILE.format(samples.RIGHT)}"),
    "slow": says(samples.FILE.format(samples.SLOW)),
    "wrong": says(samples.FILE.format(samples.WRONG)),
    "cheats": says(samples.FILE.format(samples.CHEATS)),
    "hangs": says(samples.FILE.format(samples.HANGS)),
    "broken": says(samples.FILE.format(samples.BROKEN)),
    "prose": says(samples.PROSE),
    "several": says(samples.SEVERAL),
    "python": says(f"```python\n{samples.PYTHON}```"),
    "nothing": says(""),
    "refuses": refuses("not today"),
    "cut": says(f"```metal\n{samples.RIGHT[:150]}", then="limit"),
}
CLASSES = {
    "right": "correct",
    "slow": "correct",
    "wrong": "wrong result",
    "cheats": "wrong result",
    "hangs": "time limit",
    "broken": "does not compile",
    "prose": "prose",
    "several": "several code blocks",
    "python": "Python, not Metal",
    "nothing": "empty",
    "refuses": "refused",
    "cut": "cut off",
}


class Script:
    """Answers the n-th question about a problem as its row says; a `gate` that is shut holds it.

    `held` are requests that were not answered; those that were are counted by problem.
    """

    def __init__(self, table: Sequence[Sequence[str]], answers_first: int | None = None) -> None:
        self._table = table
        self._lock = threading.Lock()
        self._first = answers_first
        self.answered: Counter[int] = Counter()
        self.open = answers_first is None

    def __call__(self, asked: Asked) -> Step:
        found = re.findall(r"`twice(\d\d)`", asked.turns[0][1])
        problem = int(found[-1])
        with self._lock:
            if not self.open and sum(self.answered.values()) == self._first:
                return says("", then="silence")
            row = self._table[problem - 1]
            answer = ANSWERS[row[self.answered[problem]]]
            self.answered[problem] += 1
        return answer


class Session:
    """A folder of generations with its store, and the commands on it."""

    def __init__(self, folder: Path, problems: int) -> None:
        self.kernels = samples.tasks_in(folder / "kernels", problems)
        self.root = folder / "run"
        self.db = folder / "results.db"

    def generating(self, url: str, count: int, *options: object) -> list[str]:
        how = ["--provider", "openai", "--model", "scripted", "--base-url", url, "--samples", count]
        where = ["--suite", samples.SET, "--kernels", self.kernels, "--out", self.root]
        return ["generate", *map(str, [*how, *where, *options])]

    def evaluating(self, *options: object) -> list[str]:
        where = ["--kernels", self.kernels, "--db", self.db, "--device", "cpu", "--time", 0.3]
        return ["evaluate", str(self.root), *map(str, [*where, *options])]

    def run(self, command: Sequence[str]) -> Result:
        return CliRunner().invoke(main, list(command))

    def analyse(self, *options: object) -> Result:
        return self.run(["analyse", str(self.root), "--db", str(self.db), *map(str, options)])
