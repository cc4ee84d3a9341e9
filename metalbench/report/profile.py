"""Text reports of a profile: a table, an annotated source, an estimate."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Group
from rich.text import Text

from metalbench.kernel.memory import SPACES, Words
from metalbench.report.chart import Axis, Dot, Key, Plot, draw_svg, interpolate_colour, write_svg
from metalbench.report.terminal import QUIET, plain_table

if TYPE_CHECKING:
    from rich.table import Table

    from metalbench.measure.analysis import Occupancy
    from metalbench.profiling.counts import Counts, DispatchCounts
    from metalbench.profiling.profiler import Estimate, Profile


_ARITHMETIC = (
    "float_add",
    "float_multiply",
    "float_fma",
    "float_divide",
    "float_special",
    "float_compare",
    "integer",
    "integer_divide",
)


def profile_table(profile: Profile, *, terminal: bool) -> Group:
    """Return the counts of each dispatch as a table."""
    table = plain_table(terminal=terminal)
    table.add_column("what", no_wrap=True)
    for each in profile.dispatches:
        table.add_column(each.function, justify="right", no_wrap=True)
    columns = [
        dict(_rows(counts, occupancy))
        for counts, occupancy in zip(profile.dispatches, profile.occupancy, strict=True)
    ]
    for name in columns[0]:
        table.add_row(*map(Text, (name, *(column[name] for column in columns))))
    moved = f"{profile.total.device_bytes:,}"
    return Group(
        Text(f"{profile.kernel}, {profile.dtype}, size {profile.size}", style="bold"),
        table,
        Text(f"\n{moved} bytes of device memory asked for, {profile.declared_bytes:,} declared."),
        Text(
            "Counted in the source, before any optimisation: see docs/how-to/profile.md.",
            style=QUIET,
        ),
    )


def _rows(counts: DispatchCounts, occupancy: Occupancy) -> Iterator[tuple[str, str]]:
    total = counts.total
    yield "threadgroups", " x ".join(map(str, occupancy.threadgroups))
    yield "threads of each", " x ".join(map(str, occupancy.threads))
    yield "idle lanes of its last SIMD-group", f"{occupancy.idle_lanes}"
    yield "threadgroup memory, of 32 KiB", f"{occupancy.threadgroup_bytes:,} B"
    yield "active lanes", _percent(counts.active_lanes)
    yield "device: bytes read", f"{total.device_bytes_read:,}"
    yield "  unique bytes read", f"{counts.unique_bytes_read:,}"
    yield "  reuse", _times(counts.reuse)
    yield "device: bytes written", f"{total.device_bytes_written:,}"
    yield "  unique bytes written", f"{counts.unique_bytes_written:,}"
    yield "transactions of 128 bytes", f"{total.device_transactions:,}"
    yield "coalescing", _percent(total.coalescing)
    yield "constant: bytes read", f"{total.constant_bytes_read:,}"
    yield "threadgroup: bytes read", f"{total.threadgroup_bytes_read:,}"
    yield "threadgroup: bytes written", f"{total.threadgroup_bytes_written:,}"
    yield "bank conflicts, turns", f"{total.bank_conflicts:,} of {total.bank_turns:,}"
    yield "atomics", f"{total.atomics:,}"
    yield "  that wait for another lane", f"{total.contended:,}"
    yield "barriers of SIMD-groups", f"{total.barriers:,}"
    yield "SIMD-group functions", f"{total.simdgroup_operations:,}"
    yield "matrix multiplies (8x8)", f"{total.matrix_multiplies:,}"
    for name in _ARITHMETIC:
        yield name.replace("_", ": ").replace("integer: ", "integer "), f"{getattr(total, name):,}"
    yield "one thread: device reads, at most", f"{counts.most_device_reads:,}"
    yield "one thread: device writes", f"{counts.most_device_writes:,}"
    yield "one thread: threadgroup reads", f"{counts.most_threadgroup_reads:,}"
    yield "one thread: threadgroup writes", f"{counts.most_threadgroup_writes:,}"


def annotate_source(profile: Profile, *, terminal: bool) -> Group:
    """Return the source with the counts of each line; lines of other files follow."""
    lines = profile.lines
    own = profile.path
    parts: list[Table | Text] = []
    for file in sorted({own, *(file for file, _ in lines)}, key=lambda each: (each != own, each)):
        text = profile.source if file == own else _read_text(file)
        table = plain_table(terminal=terminal)
        for name in (
            "line",
            "device B",
            "transactions",
            "threadgroup B",
            "conflicts",
            "operations",
        ):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("source", no_wrap=True)
        for number, written in enumerate(text.splitlines(), 1):
            counts = lines.get((file, number))
            table.add_row(*map(Text, (str(number), *_cells(counts), written.rstrip())))
        parts += [Text(f"\n{file}", style="bold"), table]
    return Group(*parts)


def _cells(counts: Counts | None) -> tuple[str, ...]:
    if counts is None:
        return ("",) * 5
    operations = sum(getattr(counts, name) for name in _ARITHMETIC)
    numbers = (
        counts.device_bytes,
        counts.device_transactions,
        counts.threadgroup_bytes_read + counts.threadgroup_bytes_written,
        counts.bank_conflicts,
        operations,
    )
    return tuple(f"{each:,}" if each else "" for each in numbers)


def _read_text(file: str) -> str:
    try:
        return Path(file).read_text()
    except OSError:
        return ""


def estimate_text(found: Estimate) -> Text:
    """Return the estimated time on a chip, with all assumptions."""
    least, most = 1e6 * found.least_s, 1e6 * found.most_s
    return Text(
        f"\nBounds by bandwidth and arithmetic of {found.chip.name}, without latency and launches: "
        f"at least {least:.3g} us ({found.least_bound}), or {most:.3g} us ({found.most_bound}) if "
        "caches keep nothing. They assume:\n" + "\n".join(f"  {each}" for each in found.assumptions)
    )


def _percent(share: float) -> str:
    return "-" if math.isnan(share) else f"{100 * share:.1f} %"


def _times(ratio: float) -> str:
    return "-" if math.isnan(ratio) else f"{ratio:.2f} x"


# Plots of a profile: accesses of threads over time, and counts of lines.

_OFFSET_BITS, _BUFFER_BITS, _SPACE_BITS = 48, 8, 56
_MOST_LINES = 30


def draw(profile: Profile, path: Path) -> None:
    """Write an SVG file with plots of the lines and of the accesses. Raise as `write_svg`."""
    write_svg(path, [[_plot_lines(profile)], *_plot_traces(profile)])


@dataclass(frozen=True)
class Picture:
    """An SVG that notebooks display."""

    svg: str

    def _repr_svg_(self) -> str:
        return self.svg


def draw_accesses(profile: Profile) -> Picture:
    """Plot the accesses of each dispatch of a traced profile: thread, offset and step."""
    return Picture(draw_svg(_plot_traces(profile)))


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


def _plot_lines(profile: Profile) -> Plot:
    """Return a heat map: rows are lines, columns are counts, relative to the largest."""
    columns = ("device_bytes", "device_transactions", "bank_conflicts", "flops", "integer")
    lines = sorted(profile.lines.items(), key=lambda each: -each[1].device_transactions)
    shown = sorted(lines[:_MOST_LINES])
    table = np.array([[getattr(counts, name) for name in columns] for _, counts in shown], float)
    most = table.max(axis=0, initial=1)
    labels = [f"{Path(file).name}:{line}" for (file, line), _ in shown]
    left = 32 + 8 * max(map(len, labels), default=0)
    title = f"{profile.kernel}: counts of lines, relative to the largest of each column"
    return Plot(
        title,
        Axis.over_names([each.replace("_", " ") for each in columns]),
        Axis.over_names(labels, downwards=True),
        cells=[
            (column, row, float(share)) for (row, column), share in np.ndenumerate(table / most)
        ],
        heading=title,
        height=84 + 22 * max(1, len(labels)),
        width=left + 140 * len(columns) + 36,
        left=left,
        top=36,
        bottom=48,
    )


def _plot_traces(profile: Profile) -> list[list[Plot]]:
    """Return a row of plots for each dispatch."""
    return [
        _plot_trace(trace, names, counts.function)
        for trace, names, counts in zip(
            profile.traces, profile.buffers, profile.dispatches, strict=True
        )
    ]


def _plot_trace(trace: Words, names: Sequence[str], function: str) -> list[Plot]:
    """Return a plot for each buffer except constants: offsets over threads, steps in colour."""
    if not len(trace):
        empty = Axis.over_range("thread", 0, 4), Axis.over_range("offset in bytes", 0, 4)
        return [Plot(function, *empty, heading=f"{function}: no recorded accesses", top=36)]
    space, buffer, offset, turn = steps(trace)
    threads = trace[:, 1] * np.uint64(1 + int(trace[:, 2].max(initial=0))) + trace[:, 2]
    keys = sorted(set(zip(space.tolist(), buffer.tolist(), strict=True)))
    shown = [each for each in keys if SPACES[each[0]] != "constant"] or keys
    last_thread, last_step = int(threads.max()), max(1, int(turn.max()))
    scale = sorted({round(last_step * part / 4) for part in range(5)})
    legend = [Key(f"step {step}", fill=interpolate_colour(step / last_step)) for step in scale]
    plots = []
    for key in shown:
        mine = (space == key[0]) & (buffer == key[1])
        low, high = int(offset[mine].min()), int(offset[mine].max())
        margin = max(4, (high - low) / 20)
        kind = SPACES[key[0]]
        name = kind if kind == "threadgroup" else f"{names[key[1]]} ({kind})"
        is_last = key == shown[-1]
        plots.append(
            Plot(
                f"accesses of {function}, {name}: offset in bytes over thread",
                Axis.over_range("thread", -1 - last_thread / 20, 1 + last_thread * 1.05),
                Axis.over_range("offset in bytes", max(0.0, low - margin), high + margin),
                dots=[
                    Dot(thread, place, fill=interpolate_colour(step / last_step), radius=2)
                    for thread, place, step in zip(
                        threads[mine].tolist(),
                        offset[mine].tolist(),
                        turn[mine].tolist(),
                        strict=True,
                    )
                ],
                legend=legend if is_last else (),
                heading=f"{function}: {name}",
                width=472 if is_last else 360,
                height=320,
                right=136 if is_last else 24,
                top=36,
            )
        )
    return plots
