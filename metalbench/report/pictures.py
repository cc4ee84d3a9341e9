"""Pictures of a profile, by matplotlib: who touches what when, and which lines do the most."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from metalbench.errors import Unsupported
from metalbench.kernel.counts import SPACES, Words

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from metalbench.profiling.counted_run import Profile

_OFFSET_BITS, _BUFFER_BITS, _SPACE_BITS = 48, 8, 56
_MOST_LINES = 30


def draw(profile: Profile, path: Path) -> None:
    """Write the picture that the file's name asks for (.svg, .png, .pdf).

    Raises Unsupported without matplotlib.
    """
    figure = _figure(1 + len(profile.traces))
    axes = figure.axes
    _draw_lines(profile, axes[0])
    for axis, trace, counts in zip(axes[1:], profile.traces, profile.dispatches, strict=True):
        _draw_trace(trace, counts.function, axis)
    figure.savefig(path)


def steps(trace: Words) -> tuple[Words, Words, Words, Words]:
    """Of each recorded access: the space, the buffer, the offset in bytes, and the thread's step.

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


def _figure(plots: int) -> Figure:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise Unsupported(
            "--picture: matplotlib is missing; run `pip install 'metalbench[plot]'`"
        ) from error
    figure = Figure(figsize=(9, 4 * plots), layout="constrained")
    figure.subplots(plots, 1)
    return figure


def _draw_lines(profile: Profile, axis: Any) -> None:
    """A heat map: rows are lines, columns are what they do, as a part of the most."""
    what = ("device_bytes", "device_transactions", "bank_conflicts", "flops", "integer")
    lines = sorted(profile.lines.items(), key=lambda each: -each[1].device_transactions)
    shown = sorted(lines[:_MOST_LINES])
    table = np.array([[getattr(counts, name) for name in what] for _, counts in shown], float)
    most = table.max(axis=0, initial=1)
    axis.imshow(table / most, aspect="auto", cmap="Reds", vmin=0, vmax=1)
    axis.set_xticks(range(len(what)), [each.replace("_", " ") for each in what])
    axis.set_yticks(range(len(shown)), [f"{Path(file).name}:{line}" for (file, line), _ in shown])
    axis.set_title(f"{profile.kernel}: what lines do, as a part of the most")


def _draw_trace(trace: Words, function: str, axis: Any) -> None:
    """Threads across, offsets up; colours are steps, markers are memories."""
    space, buffer, offset, turn = steps(trace)
    threads = trace[:, 1] * np.uint64(1 + int(trace[:, 2].max(initial=0))) + trace[:, 2]
    last = int(turn.max(initial=0))
    for key in sorted(set(zip(space.tolist(), buffer.tolist(), strict=True))):
        mine = (space == key[0]) & (buffer == key[1])
        points = axis.scatter(
            threads[mine], offset[mine], c=turn[mine], s=8, vmin=0, vmax=max(1, last),
            marker="os^v<>DPX*"[(key[0] * 4 + key[1]) % 10],
            label=SPACES[key[0]] + (f" {key[1]}" if SPACES[key[0]] != "threadgroup" else ""),
        )  # fmt: skip
        if key == (int(space[0]), int(buffer[0])):
            axis.figure.colorbar(points, ax=axis, label="step of the thread")
    axis.set(xlabel="thread", ylabel="offset in bytes", title=f"{function}: who touches what when")
    if len(trace):
        axis.legend(loc="upper left", fontsize="small")
