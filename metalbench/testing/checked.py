"""The result of checking one kernel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from textwrap import indent
from typing import Any

import numpy as np

from metalbench.testing.source import Source
from metalbench.verify import Comparison, Finding

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Checked:
    """A kernel's findings and outputs; `str` of it is what a failed assertion shows.

    `findings` are defects, each with its `place` (file, line, buffer, thread). `outputs` are those
    of the last run, empty if none ended. `comparisons` compare each output with the expected one.
    `skipped` lists checks that are not possible here.
    """

    kernel: str
    findings: tuple[Finding, ...] = ()
    outputs: Mapping[str, Array] = field(default_factory=dict, repr=False)
    comparisons: tuple[Comparison, ...] = ()
    skipped: tuple[str, ...] = ()
    source: Source | None = field(default=None, repr=False)

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings

    def with_judged(
        self,
        outputs: Mapping[str, Array],
        judged: Sequence[tuple[Comparison | None, Finding | None]],
    ) -> Checked:
        """Return the same with outputs, and what comparing them with the expected ones gave."""
        return replace(
            self,
            outputs=outputs,
            comparisons=tuple(compared for compared, _ in judged if compared is not None),
            findings=tuple(wrong for _, wrong in judged if wrong is not None),
        )

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"{self.kernel}: {'correct' if self.passed else 'not correct'}"
        for finding in self.findings:
            yield indent(str(finding), "  ")
            yield from self._line_of(finding)
        for each in self.skipped:
            yield f"  not checked: {each}"

    def _line_of(self, finding: Finding) -> Iterator[str]:
        """Yield the line of the source, where the message does not show it already."""
        place = finding.place
        if self.source is None or place.line is None or "\n" in finding.message:
            return
        text = self.source.line(place.line)
        if text and place.file == self.source.filename:
            yield f"    {place.line:5} | {text.strip()}"
