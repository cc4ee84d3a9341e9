"""The report on a search for values of tunables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.text import Text

from metalbench.report import numbers
from metalbench.report.terminal import QUIET, WARNING, plain_table
from metalbench.safe_text import json_text
from metalbench.store.result import format_tunables

if TYPE_CHECKING:
    from metalbench.stats import Interval
    from metalbench.tune.predicted import PredictedCandidate, PredictedTuning
    from metalbench.tune.search import TuningCandidate, TuningResult

SHOWN = 10


def outcome(candidate: TuningCandidate) -> str:
    """Return ``1.08x``, or the fault, in one line."""
    if candidate.ratio is None:
        return f"wrong: {candidate.fault.partition(chr(10))[0]}"
    return f"{candidate.ratio:.2f}x"


def prediction_report(found: PredictedTuning) -> Group:
    """Return the candidates with the least predicted times, and the line for the header."""
    lines = [f"Predicted for {found.chip.name}, not measured; the least first:"]
    lines += [f"  {_describe(each)}" for each in found.candidates[:SHOWN]]
    lines.append(f"Defaults: {_describe(found.defaults)}")
    rest = "all there are" if found.complete else "more remain: give it more --time"
    lines.append(f"{numbers.count(len(found.candidates), 'candidate')} predicted, {rest}.")
    if found.best.values == found.defaults.values:
        lines.append("No candidate has a shorter predicted time than the defaults.")
    elif found.is_decided:
        lines.append(f"Faster than the defaults with probability {found.probability:.2f}:")
        lines += [f"  {line}" for line in found.header_lines]
    else:
        lines.append(
            f"Cannot tell whether the first is faster: the probability is {found.probability:.2f}."
        )
    return Group(*(Text(line) for line in lines))


def _describe(each: PredictedCandidate) -> str:
    values = format_tunables(each.values)
    if each.prediction is None:
        return f"{values}: no prediction: {each.fault.partition(chr(10))[0]}"
    return f"{values}: {numbers.short_time(1e9 * each.prediction.seconds)}"


def tuning_report(found: TuningResult, console: Console) -> Group:
    """Return the best candidates, the faults of others, and the winning values."""
    ranked = sorted(found.candidates, key=lambda each: each.ratio or 0.0, reverse=True)
    names = list(found.tuning.values)
    table = plain_table(terminal=console.is_terminal)
    for name in names:
        table.add_column(name, justify="right")
    table.add_column("defaults / these", justify="right")
    for each in ranked[:SHOWN]:
        if each.ratio is not None:
            table.add_row(*(str(each.values[name]) for name in names), f"{each.ratio:.2f}x")
    lines = [Text(line) for line in _conclusion(found)]
    faults = [
        Text(f"Wrong with {format_tunables(each.values)}: {each.fault}", style=WARNING)
        for each in found.faults
    ]
    return Group(table, Text(), *faults, *lines, *_hint(found))


def _conclusion(found: TuningResult) -> Iterator[str]:
    tuning = found.tuning
    tried = numbers.count(tuning.candidates, "candidate")
    rest = "all there are" if found.complete else "more remain: give it more --time"
    of = f"{tuning.task} ({tuning.dtype}, {tuning.size})"
    if found.confirmation is None:
        yield f"{of}: nothing is faster than the defaults, {format_tunables(tuning.values)}."
    else:
        ratio = numbers.ratio(found.confirmation)
        yield f"{of}: {format_tunables(tuning.values)} is FASTER than the defaults, {ratio}."
    yield f"{tried} tried, {rest}."


def _hint(found: TuningResult) -> Iterator[Text]:
    if found.confirmation is not None:
        yield Text(f"Kept: `metalbench run {found.tuning.task} --tuned` uses it.", style=QUIET)


def to_json(found: TuningResult) -> str:
    """Return a search as JSON.

    task, dtype, size, source_hash, found_at    strings
    tunables                                    {name: integer}: the values that are kept
    ratio                                       {value, low, high} of the defaults' time over
                                                theirs; null if the defaults are kept
    complete                                    whether all candidates were tried
    candidates                                  [{tunables, ratio, fault}]: ratio of short
                                                measurements, null with a fault
    """
    tuning = found.tuning
    described = {
        "task": tuning.task,
        "dtype": tuning.dtype,
        "size": tuning.size,
        "source_hash": tuning.source_hash,
        "found_at": tuning.found_at,
        "tunables": dict(tuning.values),
        "ratio": _interval(found.confirmation),
        "complete": found.complete,
        "candidates": [
            {"tunables": each.values, "ratio": each.ratio, "fault": each.fault}
            for each in found.candidates
        ],
    }
    return json_text(described, indent=2, allow_nan=False) + "\n"


def _interval(ratio: Interval | None) -> dict[str, float | None] | None:
    if ratio is None:
        return None
    low, high = (ratio.low, ratio.high) if ratio.is_bounded else (None, None)
    return {"value": ratio.value, "low": low, "high": high}
