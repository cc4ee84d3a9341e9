"""GPU traces of where a kernel began and of its best version, for Xcode."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from metalbench.cli.capture import SUFFIX

if TYPE_CHECKING:
    from agent_steel.loop import SearchResult
    from metalbench.cli.machine import Machine


def trace(machine: Machine, result: SearchResult, folder: Path) -> Iterator[Path]:
    """Capture both versions into `folder`, and return the files; there they are not made again."""
    from metalbench.run.trial import Trial

    subject = result.subject
    folder.mkdir(parents=True, exist_ok=True)
    for attempt in dict.fromkeys((result.start.number, result.best.number)):
        version = result.best if attempt == result.best.number else result.start
        path = folder / f"{subject.entry.name}-{attempt}{SUFFIX}"
        if path.exists():
            continue
        trial = Trial(
            subject.entry,
            subject.kernel_of(version),
            subject.dtype,
            subject.size,
            tunables=version.tunables,
        )
        machine.capture(trial, path)
        yield path
