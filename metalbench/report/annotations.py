"""Failures and regressions as GitHub annotations, at their lines in the pull request.

The format is that of GitHub's workflow commands, ``::error file=...,line=...::message``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from metalbench.comparison.regression import Regression
from metalbench.foreign_text import github_message, github_property
from metalbench.report import numbers
from metalbench.report.labels import label
from metalbench.result import Failure, Result
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
    """Return file, line and column; a fault in an included file is at that file."""
    place = place_of(failure.message)
    if place.file is None or place.line is None:
        return {"file": _relative(kernel, root)}
    named = Path(place.file)
    # Messages name files as passed to the compiler: relative to the kernel's folder.
    relative = kernel.parent / named
    found = kernel if named.name == kernel.name else relative if relative.is_file() else named
    where = {"file": _relative(found, root), "line": str(place.line)}
    return where if place.column is None else {**where, "col": str(place.column)}


def _relative(path: Path, root: Path) -> str:
    full = path.absolute()
    return str(full.relative_to(root)) if full.is_relative_to(root) else str(full)


def _command(title: str, message: str, where: Mapping[str, str]) -> str:
    properties = ",".join(
        f"{name}={github_property(value)}" for name, value in {**where, "title": title}.items()
    )
    return f"::error {properties}::{github_message(message)}"
