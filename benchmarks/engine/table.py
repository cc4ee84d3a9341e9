"""Results as a table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rich.table import Table

from benchmarks.engine.runner import Result
from metalbench import _core
from metalbench.stats import Interval, geometric_mean, ratio_interval

GOAL = 1.0
LEAST = 0.5


def milliseconds(ns: float) -> str:
    return f"{ns / 1e6:.2f}"


def ratio(interval: Interval, least: float = LEAST) -> str:
    text = f"{interval.value:.2f}"
    if interval.is_bounded:
        text += f" ({interval.low:.2f} - {interval.high:.2f})"
    return f"[red]{text}[/red]" if interval.value < least else text


def cells(samples: _core.Samples | None) -> tuple[str, str, Interval | None]:
    """Time of the other contestant, and its ratio."""
    if samples is None:
        return "-", "-", None
    speedup = ratio_interval(samples.reference_ns, samples.candidate_ns)
    return milliseconds(float(np.median(samples.reference_ns))), ratio(speedup), speedup


def mean(ratios: Sequence[Interval | None]) -> str:
    known = [one for one in ratios if one is not None and one.is_bounded]
    if not known:
        return "-"
    covered = "" if len(known) == len(ratios) else f", {len(known)} of {len(ratios)}"
    return ratio(geometric_mean(known), GOAL) + covered


def table(results: Sequence[Result], title: str) -> Table:
    """Return one row a case; ratios above 1 are in the engine's favour."""
    made = Table("case", title=title, caption="ratios: its time / the engine's, 98 % intervals")
    for column in ("engine, ms", "PoCL, ms", "PoCL / engine", "C, ms", "C / engine"):
        made.add_column(column, justify="right", no_wrap=True)
    pocl, c = ([cells(one.pocl) for one in results], [cells(one.c) for one in results])
    for one, (pocl_ms, pocl_text, _), (c_ms, c_text, _) in zip(results, pocl, c, strict=True):
        made.add_row(one.name, milliseconds(one.engine_ns), pocl_ms, pocl_text, c_ms, c_text)
    if len(results) > 1:
        made.add_section()
        means = [mean([speedup for *_, speedup in column]) for column in (pocl, c)]
        made.add_row("geometric mean", "", "", means[0], "", means[1])
    return made
