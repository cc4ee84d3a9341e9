"""Failures and regressions as GitHub annotations, at their lines in the pull request.

The format is that of GitHub's workflow commands, ``::error file=...,line=...::message``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

from metalbench.compare.comparison import Regression
from metalbench.report import numbers
from metalbench.report.numbers import label
from metalbench.report.summary import summary_lines
from metalbench.report.warnings import clock_notice, device_line, simulation_notice
from metalbench.safe_text import (
    github_message,
    github_property,
    markdown_block,
    markdown_cell,
    markdown_text,
    xml_text,
)
from metalbench.store.result import Failure, Result, Status
from metalbench.verify import place_of


def annotation_lines(
    results: Sequence[Result],
    regressions: Sequence[Regression],
    files: Mapping[str, Path],
    root: Path,
) -> Iterator[str]:
    """Yield a line for every failure and regression; `files` are the kernels' files by task."""
    for result in results:
        for failure in result.failures:
            title = f"{label(result.case.task, result.case.dtype)}: {failure.kind}"
            yield _command(title, failure.message, _where(failure, files[result.case.task], root))
    for each in regressions:
        title = f"{label(*each.key)}: slower"
        message = f"{numbers.ratio(each.judgement.ratio)} against {each.against}"
        yield _command(title, message, {"file": _relative(files[each.task], root)})


def _where(failure: Failure, kernel: Path, root: Path) -> dict[str, str]:
    """Return file, line and column; a fault in an included file is at that file.

    GitHub shows no annotation of a file outside of the repository `root`. Such a fault is at the
    line of the kernel that its message names, such as a call, else at the kernel's file.
    """
    place = place_of(failure.message)
    if place.file is None or place.line is None:
        return {"file": _relative(kernel, root)}
    named = Path(place.file)
    # Messages name files as passed to the compiler: relative to the kernel's folder.
    relative = kernel.parent / named
    found = kernel if named.name == kernel.name else relative if relative.is_file() else named
    if not _is_inside(found, root) and _is_inside(kernel, root):
        where = {"file": _relative(kernel, root)}
        named_line = re.search(
            rf"(?<![\w.-]){re.escape(kernel.name)}:(\d{{1,18}})", failure.message
        )
        return where if named_line is None else {**where, "line": named_line[1]}
    where = {"file": _relative(found, root), "line": str(place.line)}
    return where if place.column is None else {**where, "col": str(place.column)}


def _is_inside(path: Path, root: Path) -> bool:
    return path.resolve().is_relative_to(root.resolve())


def _relative(path: Path, root: Path) -> str:
    full = path.absolute()
    return str(full.relative_to(root)) if full.is_relative_to(root) else str(full)


def _command(title: str, message: str, where: Mapping[str, str]) -> str:
    properties = ",".join(
        f"{name}={github_property(value)}" for name, value in {**where, "title": title}.items()
    )
    return f"::error {properties}::{github_message(message)}"


# A run as JUnit's XML, which CI systems read: a test case for each kernel.
#
# An incorrect or slower kernel is a failure; a kernel that did not run is an error.

REGRESSION = "REGRESSION"


def to_junit(results: Sequence[Result], regressions: Sequence[Regression] = ()) -> str:
    """Return the results as one test suite with the name metalbench."""
    slower: dict[tuple[str, str, str], Regression] = {each.key: each for each in regressions}
    cases = [_case(result, slower) for result in results]
    counts = {
        "tests": len(cases),
        "failures": sum(case.find("failure") is not None for case in cases),
        "errors": sum(case.find("error") is not None for case in cases),
        "skipped": 0,
    }
    attributes = {name: str(count) for name, count in counts.items()}
    attributes["time"] = f"{sum(result.seconds for result in results):.3f}"
    root = ElementTree.Element("testsuites", attributes)
    suite = ElementTree.SubElement(root, "testsuite", {"name": "metalbench", **attributes})
    if results:
        properties = ElementTree.SubElement(suite, "properties")
        device = xml_text(device_line(results[0].device))
        ElementTree.SubElement(properties, "property", {"name": "device", "value": device})
    suite.extend(cases)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _case(result: Result, slower: dict[tuple[str, str, str], Regression]) -> ElementTree.Element:
    case = result.case
    element = ElementTree.Element(
        "testcase",
        {
            "classname": xml_text(f"metalbench.{case.set}"),
            "name": xml_text(f"{case.task}[{case.dtype}-{case.size}]"),
            "time": f"{result.seconds:.3f}",
        },
    )
    kind = "failure" if result.status is Status.INCORRECT else "error"
    for failure in result.failures:
        message = f"{failure.stage}: {failure.message.partition(chr(10))[0]}"
        _add(element, kind, failure.kind, message, failure.message)
    found = slower.get((case.task, case.dtype, case.size))
    if found is not None:
        ratio = numbers.ratio(found.judgement.ratio)
        _add(element, "failure", REGRESSION, f"slower: {ratio} against {found.against}", "")
    if result.measurement is not None:
        times = ElementTree.SubElement(element, "system-out")
        measured = result.measurement
        times.text = xml_text(
            f"kernel {numbers.time(measured.candidate_ns)}, MLX "
            f"{numbers.time(measured.reference_ns)}, MLX / kernel "
            f"{numbers.ratio(measured.ratio)}"
        )
    return element


def _add(element: ElementTree.Element, tag: str, kind: str, message: str, text: str) -> None:
    found = ElementTree.SubElement(
        element, tag, {"type": xml_text(kind), "message": xml_text(message)}
    )
    found.text = xml_text(text) or None


# A run as Markdown, for a pull request or the summary of a CI job.

COLUMNS = ("task", "size", "dtype", "correct", "kernel", "MLX", "MLX / kernel", "verdict")
BY_WALL = "by wall time"


def to_markdown(
    results: Sequence[Result], seconds: float, regressions: Sequence[Regression] = ()
) -> str:
    """Return a table of the results, then failures and regressions."""
    return "\n".join(_lines(results, seconds, regressions)) + "\n"


def _lines(
    results: Sequence[Result], seconds: float, regressions: Sequence[Regression]
) -> Iterator[str]:
    yield "## MetalBench\n"
    yield from (f"{markdown_text(line)}  " for line in summary_lines(results, seconds))
    yield ""
    with_wall = any(each.measurement and each.measurement.by_wall for each in results)
    columns = (*COLUMNS, BY_WALL) if with_wall else COLUMNS
    yield f"| {' | '.join(columns)} |"
    yield f"|{'---|' * len(columns)}"
    for result in results:
        yield f"| {' | '.join(_cells(result)[: len(columns)])} |"
    for each in regressions:
        ratio = numbers.ratio(each.judgement.ratio)
        name = markdown_cell(label(*each.key))
        yield f"\n**{name} became slower**: {ratio} against {markdown_cell(each.against)}"
    for result in results:
        for failure in result.failures:
            name = markdown_cell(label(result.case.task, result.case.dtype))
            yield f"\n**{name}: {result.status.value} at {markdown_cell(failure.stage)}**\n"
            yield markdown_block(failure.message)
        if result.unconfined:
            name = markdown_cell(label(result.case.task, result.case.dtype))
            unconfined = markdown_text(result.unconfined)
            yield f"\n**{name}: its process was not confined**: {unconfined}"
    if results:
        device = results[0].device
        said = simulation_notice(device) or clock_notice(results) or ""
        yield f"\nDevice: {markdown_cell(device_line(device))}. {said}".rstrip()


def _cells(result: Result) -> tuple[str, ...]:
    """Return the cells of a row as Markdown."""
    case, measured = result.case, result.measurement
    names = map(markdown_cell, (case.task, case.size, case.dtype))
    status = "correct" if result.status is Status.CORRECT else f"**{result.status.value}**"
    if measured is None:
        return (*names, status, *[numbers.MISSING] * 5)
    return (
        *names,
        status,
        numbers.time(measured.candidate_ns),
        numbers.time(measured.reference_ns),
        numbers.ratio(measured.ratio),
        measured.verdict.value if measured.verdict else numbers.MISSING,
        numbers.ratio(measured.by_wall.ratio if measured.by_wall else None),
    )
