"""Print predictions of times on Apple's GPUs."""

from __future__ import annotations

from pathlib import Path

from rich.text import Text

from metalbench.profiling.gpu_calibration import COVERAGE
from metalbench.profiling.prediction import Prediction
from metalbench.report.numbers import short_time

_BAR_CELLS = 30
_NS = 1e9
_MOST_LINES = 8
_LEAST_SHARE = 0.01


def prediction_text(found: Prediction) -> Text:
    """Return the predicted time with its interval, the time by cause, and the slowest lines."""
    low, middle, high = (short_time(_NS * s) for s in (found.low_s, found.seconds, found.high_s))
    lines = [
        "",
        f"Prediction for {found.chip.name} ({found.chip.cores} GPU cores), not a measurement: "
        f"{middle}; {100 * COVERAGE:.0f} % interval {low} to {high}.",
    ]
    for each in _unique(found):
        lines.append(f"  {each}")
    lines.append("Time by cause:")
    lines += _draw_shares(found.parts, found.seconds)
    own = {
        f"{Path(file).name}:{number}": seconds for (file, number), seconds in found.lines.items()
    }
    if own:
        lines.append("Slowest lines (arithmetic and accesses):")
        lines += _draw_shares(dict(list(own.items())[:_MOST_LINES]), found.seconds)
    lines.append(f"Calibration: {found.calibration.source}.")
    return Text("\n".join(lines))


def _unique(found: Prediction) -> list[str]:
    """Return one line for each kind of dispatch."""
    counts: dict[str, int] = {}
    for each in found.dispatches:
        work = each.work
        line = (
            f"{each.function}: {short_time(_NS * each.seconds)}, limited by {each.limit}; about "
            f"{work.halves / 2:.0f} registers, {work.threadgroups:.0f} threadgroups of "
            f"{work.simdgroups:.0f} SIMD-groups"
        )
        counts[line] = counts.get(line, 0) + 1
    return [f"{count} x {line}" if count > 1 else line for line, count in counts.items()]


def _draw_shares(seconds: dict[str, float], total: float) -> list[str]:
    width = max(map(len, seconds), default=0)
    return [
        f"  {name:{width}s} {100 * each / total:5.1f} % "
        + "#" * round(_BAR_CELLS * each / max(seconds.values()))
        for name, each in seconds.items()
        if each >= _LEAST_SHARE * total
    ]
