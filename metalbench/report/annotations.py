"""What is wrong with a run, as GitHub's annotations: at the line, in the pull request.

The form is that of GitHub's workflow commands, ``::error file=...,line=...::message``.
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
    """A line for every failure and regression; `files` are kernels by task, below `root` or not."""
    for result in results:
        for failure in result.failures:
            title = f"{label(result.case.task, result.case.dtype)}: {failure.kind}"
            yield _command(title, failure.message, _where(failure, files[result.case.task], root))
    for each in regressions:
        title = f"{label(*each.key)}: slower"
        message = f"{numbers.ratio(each.judgement.ratio)} against {each.against}"
        yield _command(title, message, {"file": _relative(files[each.task], root)})


def _where(failure: Failure, kernel: Path, root: Path) -> dict[str, str]:
    """File, line and column; a fault within an included file is at that file."""
    place = place_of(failure.message)
    if place.file is None or place.line is None:
        return {"file": _relative(kernel, root)}
    told = Path(place.file)
    # Faults tell a file as the compiler was told of it: relative to the kernel's own folder.
    beside = kernel.parent / told
    found = kernel if told.name == kernel.name else beside if beside.is_file() else told
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
