"""Plots of a profile by matplotlib: accesses of threads over time, and counts of lines."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from metalbench.errors import MachineError, Unsupported
from metalbench.foreign_text import xml_text
from metalbench.kernel.counts import SPACES, Words

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from metalbench.profiling.counted_run import Profile

_OFFSET_BITS, _BUFFER_BITS, _SPACE_BITS = 48, 8, 56
_MOST_LINES = 30


def draw(profile: Profile, path: Path) -> None:
    """Write the plot in the format of the file's suffix (.svg, .png, .pdf).

    Raises Unsupported without matplotlib, MachineError if the file cannot be written.
    """
    figure = _figure(9.0, 4.0 * (1 + len(profile.traces)))
    with _without_math():
        lines, *traces = figure.subfigures(1 + len(profile.traces), 1, squeeze=False)[:, 0]
        _draw_lines(profile, lines.subplots())
        _draw_traces(profile, traces)
        try:
            figure.savefig(path)
        except OSError as error:
            raise MachineError(f"{path} cannot be written: {error.strerror}") from error


@dataclass(frozen=True)
class Picture:
    """An SVG that notebooks display."""

    svg: str

    def _repr_svg_(self) -> str:
        return self.svg


def draw_accesses(profile: Profile) -> Picture:
    """Plot the accesses of each dispatch of a traced profile: thread, offset and step.

    Raises Unsupported without matplotlib.
    """
    figure = _figure(9.0, 3.0 * len(profile.traces))
    text = StringIO()
    with _without_math():
        _draw_traces(profile, list(figure.subfigures(len(profile.traces), 1, squeeze=False)[:, 0]))
        figure.savefig(text, format="svg", metadata={"Date": None})
    return Picture(text.getvalue())


def steps(trace: Words) -> tuple[Words, Words, Words, Words]:
    """Return the space, the buffer, the byte offset and the thread's step of each access.

    A thread's first access is its step 0.
    """
    where = trace[:, 3]
    space = where >> np.uint64(_SPACE_BITS)
    buffer = (where >> np.uint64(_OFFSET_BITS)) & np.uint64((1 << _BUFFER_BITS) - 1)
    offset = where & np.uint64((1 << _OFFSET_BITS) - 1)
    turn = np.zeros(len(trace), np.uint64)
    seen: dict[tuple[int, int], int] = {}
    for i, (group, thread) in enumerate(trace[:, 1:3].tolist()):
        turn[i] = seen.get((group, thread), 0)
        seen[group, thread] = int(turn[i]) + 1
    return space, buffer, offset, turn


def _figure(width: float, height: float) -> Figure:
    """Return an empty figure, in inches."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise Unsupported(
            "--picture: matplotlib is missing; run `pip install 'metalbench[plot]'`"
        ) from error
    return Figure(figsize=(width, height), layout="constrained")


def _without_math() -> AbstractContextManager[None]:
    """Disable mathematics in text, so that a `$` in a name is printed."""
    from matplotlib import rc_context

    return rc_context({"text.parse_math": False})


def _draw_lines(profile: Profile, axis: Any) -> None:
    """Draw a heat map: rows are lines, columns are counts, relative to the largest."""
    what = ("device_bytes", "device_transactions", "bank_conflicts", "flops", "integer")
    lines = sorted(profile.lines.items(), key=lambda each: -each[1].device_transactions)
    shown = sorted(lines[:_MOST_LINES])
    table = np.array([[getattr(counts, name) for name in what] for _, counts in shown], float)
    most = table.max(axis=0, initial=1)
    axis.imshow(table / most, aspect="auto", cmap="Reds", vmin=0, vmax=1)
    axis.set_xticks(range(len(what)), [each.replace("_", " ") for each in what])
    labels = [xml_text(f"{Path(file).name}:{line}") for (file, line), _ in shown]
    axis.set_yticks(range(len(shown)), labels)
    axis.set_title(xml_text(f"{profile.kernel}: what lines do, as a part of the most"))


def _draw_traces(profile: Profile, figures: Sequence[Any]) -> None:
    for trace, names, counts, figure in zip(
        profile.traces, profile.buffers, profile.dispatches, figures, strict=True
    ):
        figure.suptitle(xml_text(f"{counts.function}: who touches what when"))
        if len(trace):
            _draw_trace(trace, names, figure)


def _draw_trace(trace: Words, names: Sequence[str], figure: Any) -> None:
    """Draw a plot for each buffer except constants: threads across, offsets up, steps in colour."""
    space, buffer, offset, turn = steps(trace)
    threads = trace[:, 1] * np.uint64(1 + int(trace[:, 2].max(initial=0))) + trace[:, 2]
    keys = sorted(set(zip(space.tolist(), buffer.tolist(), strict=True)))
    shown = [each for each in keys if SPACES[each[0]] != "constant"] or keys
    axes = figure.subplots(1, len(shown), squeeze=False)[0]
    for axis, key in zip(axes, shown, strict=True):
        mine = (space == key[0]) & (buffer == key[1])
        points = axis.scatter(
            threads[mine], offset[mine], c=turn[mine], s=8, vmin=0, vmax=max(1, int(turn.max()))
        )
        kind = SPACES[key[0]]
        title = kind if kind == "threadgroup" else xml_text(f"{names[key[1]]} ({kind})")
        last = int(threads.max())
        axis.set(xlabel="thread", title=title, xlim=(-1 - last / 20, 1 + last * 1.05))
    axes[0].set_ylabel("offset in bytes")
    figure.colorbar(points, ax=axes, label="step of the thread")
