"""Certificates as Markdown, and the verdict of a reproduction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from metalbench.foreign_text import markdown_cell, markdown_code
from metalbench.leaderboard.certificate import Certificate
from metalbench.leaderboard.reproduction import Reproduction
from metalbench.report import numbers
from metalbench.report.labels import label
from metalbench.report.notice import device_line, simulation_notice
from metalbench.result.tuning import format_tunables


def to_markdown(certificates: Sequence[Certificate], files: Mapping[int, str]) -> str:
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
    for name, value in _facts(made):
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


def _facts(made: Certificate) -> Iterator[tuple[str, str]]:
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
