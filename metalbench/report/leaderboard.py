"""The records, as a table for each device and for other programs.

JSON: one object.

    schema     1
    devices    list of
        device   {kind, name, chip, cores}
        engine   as what the cpu device ran kernels; empty of a GPU
        note     null, or what is to be known about times of a simulation
        records  list of
            task, set, size, dtype, kernel, source, source_hash    strings
            measured_at, accepted_at, origin, author               strings
            sizes, tunables                                        {name: integer}
            kernel_ns, gpu_ns, reference_ns, ratio                 intervals, or null
            gflops, gbytes_per_s                                   intervals, or null
            verdict, clock, mlx                                    strings, or null
            gains     [interval]: the record before / this one, of each pairing in turn
            records   how many there were of this place, with this one

An interval is {value, low, high}. CSV: a header and a line for each record, with `CSV_COLUMNS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from metalbench.compare import Decision, Ruling
from metalbench.compare.certificate import Certificate, Reproduction
from metalbench.report import numbers
from metalbench.report.export import interval_json, write_csv
from metalbench.report.numbers import label
from metalbench.report.page.model import by_device, rate, work_ns
from metalbench.report.terminal import QUIET, VERDICT_STYLES, fits_width, plain_table
from metalbench.report.warnings import device_line, simulation_notice
from metalbench.safe_text import json_text, markdown_cell, markdown_code
from metalbench.stats import CONFIDENCE, Verdict
from metalbench.store.result import format_tunables

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from metalbench.store.records import Record, RecordPlace

    Past = Callable[[RecordPlace], Sequence[Record]]

SCHEMA = 1
COLUMNS = (
    *("task", "dtype", "size", "kernel", "MLX", "MLX / kernel", "GFLOP/s", "GB/s", "since"),
    "by",
)
PAST_COLUMNS = ("since", "kernel", "MLX / kernel", "against the record before", "source", "by")
INTERVALS = ("kernel_ns", "reference_ns", "ratio", "gflops", "gbytes_per_s", "gpu_ns")
PLAIN = ("task", "set", "size", "dtype", "kernel", "source_hash", "verdict", "clock", "mlx")
CSV_COLUMNS = (
    *("device", "device_name", "chip", "cores", "engine"),
    *PLAIN,
    *(f"{name}{end}" for name in INTERVALS for end in ("", "_low", "_high")),
    *("measured_at", "accepted_at", "origin", "author", "records"),
)
RULE = (
    f"Times are of one pass, with {100 * CONFIDENCE:g} % intervals. A record's place is taken by "
    "what is FASTER in pairs with it, twice."
)


def leaderboard_report(records: Sequence[Record], console: Console) -> Group:
    """Return a table for each device; times of different devices are never in one table."""
    blocks: list[RenderableType] = []
    for same in by_device(records):
        notice = simulation_notice(same[0].place.device)
        blocks += [
            Text(_device(same[0]), style="bold"),
            *([Text(f"Simulated: {notice}", style=QUIET)] if notice else []),
            _table(same, console),
            Text(),
        ]
    return Group(*blocks, Text(RULE, style=QUIET))


def past_report(records: Sequence[Record], past: Past, console: Console) -> Group:
    """Return, for the place of each record, a table of its records, the latest first."""
    blocks: list[RenderableType] = []
    for each in records:
        table = plain_table(terminal=console.is_terminal)
        for name in PAST_COLUMNS:
            table.add_column(name)
        for step in past(each.place):
            gains = " and ".join(map(numbers.ratio, step.gains))
            table.add_row(
                step.accepted_at[:16].replace("T", " "),
                numbers.time(work_ns(step)),
                numbers.ratio(step.entry.ratio),
                gains or "the first",
                step.entry.source_hash[:12],
                Text(step.by),
            )
        about = label(each.entry.task, each.entry.dtype, each.entry.size)
        blocks += [Text(f"{about}: {_device(each)}", style="bold"), table, Text()]
    return Group(*blocks)


def to_json(records: Sequence[Record], past: Past) -> str:
    """Return records as the JSON described above."""
    devices = [
        {
            "device": _facts(same[0]),
            "engine": same[0].place.engine,
            "note": simulation_notice(same[0].place.device),
            "records": [
                {**record_to_dict(each), "records": len(past(each.place))} for each in same
            ],
        }
        for same in by_device(records)
    ]
    return json_text({"schema": SCHEMA, "devices": devices}, indent=2) + "\n"


def to_csv(records: Sequence[Record], past: Past) -> str:
    """Return records as the CSV described above."""
    return write_csv(CSV_COLUMNS, _csv_rows(records, past))


def _csv_rows(records: Sequence[Record], past: Past) -> Iterator[dict[str, Any]]:
    for each in (each for same in by_device(records) for each in same):
        device = _facts(each)
        row = record_to_dict(each) | {"engine": each.place.engine, "records": len(past(each.place))}
        row |= {"device": device["kind"], "device_name": device["name"]}
        row |= {"chip": device["chip"], "cores": device["cores"]}
        for name in INTERVALS:
            interval = row[name] or {"value": None, "low": None, "high": None}
            row[name] = interval["value"]
            row[f"{name}_low"], row[f"{name}_high"] = interval["low"], interval["high"]
        yield row


def to_markdown(records: Sequence[Record]) -> str:
    """Return a Markdown table for each device."""
    return "\n".join(_markdown(records)) + "\n"


def record_to_dict(record: Record) -> dict[str, Any]:
    """Return one entry of `records`, without their number."""
    entry, time_ns = record.entry, work_ns(record)
    return {
        "task": entry.task,
        "set": record.set,
        "size": entry.size,
        "sizes": dict(entry.sizes),
        "dtype": entry.dtype,
        "kernel": entry.kernel,
        "source": record.source,
        "source_hash": entry.source_hash,
        "tunables": dict(entry.tunables),
        "kernel_ns": interval_json(entry.kernel_ns),
        "gpu_ns": interval_json(entry.gpu_ns),
        "reference_ns": interval_json(entry.reference_ns),
        "ratio": interval_json(entry.ratio),
        "gflops": interval_json(rate(time_ns, record.gflops)),
        "gbytes_per_s": interval_json(rate(time_ns, record.gbytes_per_s)),
        "verdict": entry.verdict,
        "clock": entry.clock,
        "mlx": entry.mlx,
        "gains": [interval_json(gain) for gain in record.gains],
        "measured_at": entry.recorded_at,
        "accepted_at": record.accepted_at,
        "origin": record.origin,
        "author": record.author,
    }


def _facts(record: Record) -> dict[str, Any]:
    device = record.place.device
    return {
        "kind": device.kind,
        "name": device.name,
        "chip": device.chip,
        "cores": device.cores,
    }


def _device(record: Record) -> str:
    engine = f", {record.place.engine}" if record.place.engine else ""
    return f"{device_line(record.place.device)}{engine}"


def _table(records: Sequence[Record], console: Console) -> Table:
    """Return a table with one line for each record, or two if the console is too narrow."""
    wide = plain_table(terminal=console.is_terminal)
    for name in COLUMNS:
        rates = name in ("GFLOP/s", "GB/s")
        wide.add_column(name, no_wrap=True, justify="right" if rates else "left")
    narrow = plain_table(terminal=console.is_terminal, gap=1)
    narrow.add_column("task", overflow="fold")
    for name in ("kernel", "MLX", "MLX / kernel", "since"):
        narrow.add_column(name)
    for each in records:
        cells = [Text(cell) for cell in _cells(each)]
        ratio, verdict = cells[5], each.entry.verdict
        if verdict is not None:
            ratio.append(f" {verdict}", VERDICT_STYLES[Verdict(verdict)])
        wide.add_row(*cells)
        first = Text.assemble(cells[0], "\n", cells[1], " ", cells[2])
        below = [Text("\n[").join(cell.split(" [")) for cell in (cells[3], cells[4], ratio)]
        narrow.add_row(first, *below, Text("\n").join(cells[8:]))
    return wide if fits_width(wide, console) else narrow


def _cells(record: Record) -> tuple[str, ...]:
    entry, time_ns = record.entry, work_ns(record)
    rates = (rate(time_ns, record.gflops), rate(time_ns, record.gbytes_per_s))
    return (
        entry.task,
        entry.dtype,
        entry.size,
        numbers.time(entry.kernel_ns),
        numbers.time(entry.reference_ns),
        numbers.ratio(entry.ratio),
        *(numbers.estimate(each) if each and each.value else numbers.MISSING for each in rates),
        record.accepted_at[:10],
        record.by,
    )


def _markdown(records: Sequence[Record]) -> Iterator[str]:
    yield "## MetalBench records\n"
    for same in by_device(records):
        notice = simulation_notice(same[0].place.device)
        yield f"### {markdown_cell(_device(same[0]))}\n"
        if notice is not None:
            yield f"{notice}\n"
        yield f"| {' | '.join((*COLUMNS, 'verdict'))} |"
        yield f"|{'---|' * (len(COLUMNS) + 1)}"
        for each in same:
            cells = (*_cells(each), each.entry.verdict or numbers.MISSING)
            yield f"| {' | '.join(map(markdown_cell, cells))} |"
        yield ""
    yield RULE


# Report the decisions on results that may become records.

NAMES = {
    Decision.FIRST: "first",
    Decision.NEW: "new",
    Decision.STANDS: "unbeaten",
    Decision.REFUSED: "refused",
}


def ruling_lines(rulings: Sequence[Ruling]) -> Iterator[str]:
    """Yield a line for each result that met a record or was refused, and their counts."""
    for each in rulings:
        if each.gains or each.decision is Decision.REFUSED:
            yield ruling_line(each)
    decisions = [each.decision for each in rulings]
    counts = [
        f"{decisions.count(each)} {name}" for each, name in NAMES.items() if each in decisions
    ]
    if counts:
        yield f"Records: {', '.join(counts)}. `metalbench leaderboard` shows them."


def ruling_line(ruling: Ruling) -> str:
    """Return ``softmax (seed): new record: FASTER than the record ...``, with the gains."""
    place = ruling.place
    about = label(place.task, place.dtype, place.size)
    gains = " and ".join(map(numbers.ratio, ruling.gains))
    line = f"{about}: {ruling.decision.value}: {ruling.why}"
    return f"{line}: {gains} as fast." if gains else f"{line}."


# Certificates as Markdown, and the verdict of a reproduction.


def certificate_to_markdown(certificates: Sequence[Certificate], files: Mapping[int, str]) -> str:
    """Return a block for each certificate; `files` has its record's file by the result's number."""
    return "\n".join(line for each in certificates for line in _lines(each, files))


def reproduction_line(found: Reproduction, about: str) -> str:
    """Return one line: the verdict, with the interval or the reason."""
    line = f"{found.word.value}: {about}: {found.why}"
    if found.relative is None or found.here is None or found.claimed is None:
        return line
    shown = numbers.time if found.by_time else numbers.ratio
    of = "" if found.by_time else " MLX's speed"
    return (
        f"{line}; {numbers.ratio(found.relative)} of the claim ({shown(found.here)}{of} here, "
        f"{shown(found.claimed)} there)"
    )


def _lines(made: Certificate, files: Mapping[int, str]) -> Iterator[str]:
    entry, place = made.entry, made.ruling.place
    name = label(entry.task, entry.dtype, entry.size)
    yield f"### {markdown_cell(f'{name}: {_headline(made)}')}\n"
    yield "| | |"
    yield "|---|---|"
    for name, value in _certificate_facts(made):
        yield f"| {name} | {value} |"
    notice = simulation_notice(place.device)
    if notice is not None:
        yield f"\n{notice}"
    if made.record is not None and entry.id in files:
        file, digest = markdown_code(files[entry.id]), markdown_code(made.record.sha256)
        command = markdown_code(f"metalbench reproduce {files[entry.id]}")
        yield f"\nThe record file is {file}, SHA-256 {digest};"
        yield f"{command} measures it on another machine."
    yield ""


def _headline(made: Certificate) -> str:
    if not made.is_correct:
        return made.entry.status
    if made.verdict is None:
        return f"correct, {made.ruling.decision.value}"
    gains = " and ".join(map(numbers.ratio, made.gains))
    return f"{made.verdict.value} against {made.against}, {gains} as fast"


def _certificate_facts(made: Certificate) -> Iterator[tuple[str, str]]:
    """Return the rows of a certificate's table, with values as Markdown."""
    shown = {name: markdown_cell(value) for name, value in _plain_facts(made)}
    entry = made.entry
    kernel, digest = markdown_code(entry.kernel), markdown_code(entry.source_hash)
    return iter({"kernel": f"{kernel}, SHA-256 {digest}", **shown}.items())


def _plain_facts(made: Certificate) -> Iterator[tuple[str, str]]:
    entry, place = made.entry, made.ruling.place
    extents = ", ".join(f"{name} {extent}" for name, extent in entry.sizes.items())
    if entry.tunables:
        yield "tunables", format_tunables(entry.tunables)
    yield "size", f"{entry.size} ({extents}), {entry.dtype}"
    if made.is_correct:
        yield "time", numbers.time(entry.kernel_ns)
        if entry.gpu_ns is not None:
            yield "GPU time", numbers.time(entry.gpu_ns)
        yield "MLX", numbers.time(entry.reference_ns)
        yield "MLX / kernel", f"{numbers.ratio(entry.ratio)} {entry.verdict or ''}".strip()
    yield "records", f"{made.ruling.decision.value}: {made.ruling.why}"
    engine = f", {place.engine}" if place.engine else ""
    yield "device", f"{device_line(place.device)}{engine}"
    if made.record is not None:
        machine = made.record.machine
        versions = ", ".join(f"{name} {each}" for name, each in machine.versions.items())
        yield "machine", f"{machine.cpu}, {machine.os}; {versions}"
    yield "measured", entry.recorded_at
