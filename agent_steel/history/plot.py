"""A picture of a search: every attempt by its gain, and the best so far."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_steel.attempt import Status
from agent_steel.history.lineage import STANDING
from metalbench.errors import DeclarationError, MachineError
from metalbench.foreign_text import xml_text

if TYPE_CHECKING:
    from agent_steel.history.lineage import Lineage

FORMATS = (".svg", ".png")
COLOURS = {Status.KEPT: "#1a7f37", Status.REVERTED: "#6e7781", Status.BASELINE: "#0969da"}


def draw(lineage: Lineage, title: str, path: Path) -> None:
    """Write the picture to `path`, in the format that its name ends in.

    Raise DeclarationError for another format, MachineError if matplotlib lacks or the file cannot
    be written.
    """
    if path.suffix.lower() not in FORMATS:
        raise DeclarationError(f"{path}: expected a name that ends in .svg or .png")
    figure = _figure()
    axes = figure.add_subplot()
    axes.title.set_parse_math(False)
    numbers, gains = best_so_far(lineage)
    axes.step(numbers, gains, where="post", color=COLOURS[Status.KEPT], label="best so far")
    for status, colour in COLOURS.items():
        points = [
            (each.number, _gain(lineage, each))
            for each in lineage.attempts.values()
            if each.status is status
        ]
        shown = [(number, gain) for number, gain in points if gain is not None]
        if shown:
            axes.scatter(*zip(*shown, strict=True), s=18, color=colour, label=status.value)
    axes.set(
        title=xml_text(title), xlabel="attempt", ylabel="time at the start / time", ylim=(0, None)
    )
    axes.legend(frameon=False)
    try:
        figure.savefig(path)
    except OSError as error:
        raise MachineError(f"{path} cannot be written: {error.strerror}") from error


def best_so_far(lineage: Lineage) -> tuple[list[int], list[float]]:
    """Return numbers of attempts that were judged, and the greatest gain up to each of them."""
    numbers, gains, best = [], [], 0.0
    for each in lineage.attempts.values():
        if each.status in STANDING:
            best = max(best, lineage.gain(each))
        if best and each.status is not Status.PENDING:
            numbers.append(each.number)
            gains.append(best)
    return numbers, gains


def _gain(lineage: Lineage, attempt: Any) -> float | None:
    if attempt.status is not Status.BASELINE and attempt.ratio is None:
        return None
    return lineage.gain(attempt)


def _figure() -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MachineError(
            f"plot needs matplotlib ({error}): pip install 'metalbench[plot]'"
        ) from error
    return Figure(figsize=(8, 4.5), layout="constrained")
