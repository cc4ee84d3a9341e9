"""``metalbench run FILE.py``: candidates in Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metalbench.cli.config import TrialConfig

if TYPE_CHECKING:
    from metalbench.kernel import Kernel
    from metalbench.result import Failure
    from metalbench.run.trial import Trial

SUFFIX = ".py"


def split_names(names: Sequence[str]) -> tuple[list[str], list[Path]]:
    """Split arguments into names of tasks and files of Python candidates."""
    files = [Path(each) for each in names if each.endswith(SUFFIX)]
    return [each for each in names if not each.endswith(SUFFIX)], files


def list_trials_of_files(
    files: Sequence[Path], config: TrialConfig, common: Mapping[str, Any]
) -> list[Trial]:
    """Return a trial for every file, element type and size. `common` are settings of all trials.

    The task is the one of --task, by default the one with the file's name. Raises click.UsageError
    for options that candidates cannot have, DeclarationError if there is no such task.
    """
    from metalbench.kernel.library import Library
    from metalbench.run.trial import Trial

    for option in config.launch_options:
        raise click.UsageError(f"{files[0]}: expected no {option} for a Python candidate")
    library = Library(config.kernels)
    trials = []
    for path in files:
        entry = library.entry(config.task or path.stem)
        kernel, broken = _read(path, entry.name)
        every = "all" in config.dtypes
        dtypes = [each for each in kernel.dtypes if each in entry.task.dtypes]
        trials += [
            Trial(entry, kernel, dtype, size, broken=broken, unconfined=config.unconfined, **common)
            for dtype in (dtypes if every else config.dtypes)
            for size in config.sizes or [None]
        ]
    return trials


def _read(path: Path, task: str) -> tuple[Kernel, Failure | None]:
    """Read a candidate; return it and its fault. Raises if there is no such file."""
    from metalbench.errors import MetalBenchError
    from metalbench.kernel.candidate_file import read_candidate
    from metalbench.python_candidate.source import is_local_file, parse_unchecked, read
    from metalbench.result import Failure
    from metalbench.run.stages import Stage

    try:
        return read(path, task), None
    except MetalBenchError as error:
        if not path.exists() or not is_local_file(path):
            raise
        try:
            text = read_candidate(path).decode("utf-8", "replace").replace("\0", "\ufffd")
        except MetalBenchError:
            text = ""
        broken = Failure(Stage.COMPILE.value, type(error).__name__, str(error))
        return parse_unchecked(text, name=task, path=path), broken
