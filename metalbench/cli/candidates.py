"""``metalbench run FILE.py``: candidates that are Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from metalbench.kernel import Kernel
    from metalbench.result import Failure
    from metalbench.run.trial import Trial

SUFFIX = ".py"
# What is of a `.metal` file's launches, or of the process that runs the command.
REFUSED = ("in_process", "on", "cold", "tuned", "record", "capture", "ab_control")


def files_among(names: Sequence[str]) -> tuple[list[str], list[Path]]:
    """Names of tasks, and files of candidates."""
    files = [Path(each) for each in names if each.endswith(SUFFIX)]
    return [each for each in names if not each.endswith(SUFFIX)], files


def trials_of_files(
    files: Sequence[Path], options: Mapping[str, Any], common: Mapping[str, Any]
) -> list[Trial]:
    """A trial for every file, element type and size; `common` is what all trials have.

    The task is the one that --task names, else the one that the file is called after. Raises
    click.UsageError for options that are not for candidates, DeclarationError without such a task.
    """
    from metalbench.kernel.library import Library
    from metalbench.run.trial import Trial

    for each in REFUSED:
        if options.get(each):
            option = each.replace("_", "-")
            raise click.UsageError(f"{files[0]}: expected no --{option} for a Python candidate")
    library = Library(options["kernels"])
    trials, unconfined = [], bool(options.get("unconfined"))
    for path in files:
        entry = library.entry(options.get("task") or path.stem)
        kernel, broken = _read(path, entry.name)
        every = "all" in options["dtypes"]
        dtypes = [each for each in kernel.dtypes if each in entry.task.dtypes]
        trials += [
            Trial(entry, kernel, dtype, size, broken=broken, unconfined=unconfined, **common)
            for dtype in (dtypes if every else options["dtypes"])
            for size in options["sizes"] or [None]
        ]
    return trials


def _read(path: Path, task: str) -> tuple[Kernel, Failure | None]:
    """The candidate in a file, and what is wrong with it; raises where there is no file."""
    from metalbench.errors import MetalBenchError
    from metalbench.kernel.candidate_file import read_candidate
    from metalbench.python_candidate.source import leads_to_neighbour, read, unchecked
    from metalbench.result import Failure
    from metalbench.run.stages import Stage

    try:
        return read(path, task), None
    except MetalBenchError as error:
        if not path.exists() or not leads_to_neighbour(path):
            raise
        try:
            text = read_candidate(path).decode("utf-8", "replace").replace("\0", "\ufffd")
        except MetalBenchError:
            text = ""
        broken = Failure(Stage.COMPILE.value, type(error).__name__, str(error))
        return unchecked(text, name=task, path=path), broken
