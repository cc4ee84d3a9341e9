"""Text reports of a profile: a table, an annotated source, an estimate."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from metalbench.report.plain import plain_table
from metalbench.report.styles import QUIET

if TYPE_CHECKING:
    from rich.table import Table

    from metalbench.analysis.occupancy import Occupancy
    from metalbench.counting.counts import Counts
    from metalbench.counting.dispatch import DispatchCounts
    from metalbench.profiling.counted_run import Profile
    from metalbench.profiling.estimate import Estimate

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
    yield "  unique", f"{counts.unique_bytes_read:,}"
    yield "  reuse", _times(counts.reuse)
    yield "device: bytes written", f"{total.device_bytes_written:,}"
    yield "  unique", f"{counts.unique_bytes_written:,}"
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
        f"\nEstimate for {found.chip.name}: {least:.3g} us ({found.least_bound} bounds it) to "
        f"{most:.3g} us ({found.most_bound}). No Mac has confirmed it. It assumes:\n"
        + "\n".join(f"  {each}" for each in found.assumptions)
    )


def _percent(share: float) -> str:
    return "-" if math.isnan(share) else f"{100 * share:.1f} %"


def _times(ratio: float) -> str:
    return "-" if math.isnan(ratio) else f"{ratio:.2f} x"
