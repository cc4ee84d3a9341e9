"""Make the trials of a run from names, files and found tunables."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metalbench.cli.options import TrialConfig

if TYPE_CHECKING:
    from rich.console import Console

    from metalbench.kernel.header import Kernel
    from metalbench.kernel.library import Entry
    from metalbench.run.trial import Described, Trial
    from metalbench.store.result import Failure
    from metalbench.store.store import Store


PYTHON, METAL = ".py", ".metal"


def split_names(names: Sequence[str]) -> tuple[list[str], list[Path]]:
    """Split arguments into names of tasks and files of candidates."""
    files = [Path(each) for each in names if each.endswith((PYTHON, METAL))]
    return [each for each in names if not each.endswith((PYTHON, METAL))], files


def list_trials_of_files(
    files: Sequence[Path], device: Described, config: TrialConfig, common: Mapping[str, Any]
) -> list[Trial]:
    """Return a trial for every file, element type and size. `common` are settings of all trials.

    The task is the one of --task, by default the one with the file's name. Raises click.UsageError
    for options that candidates cannot have, DeclarationError if there is no such task or file.
    """
    from metalbench.errors import DeclarationError
    from metalbench.kernel.library import Library
    from metalbench.run.trial import Trial

    library = Library(config.kernels)
    trials = []
    for path in files:
        if not path.exists():
            raise DeclarationError(f"{path}: there is no such file")
        name = config.task or path.name.partition(".")[0]
        try:
            entry = library.entry(name)
        except DeclarationError as error:
            if config.task is not None:
                raise
            hint = str(error).partition("; ")[2]
            task_file = path.with_name(f"{name}.py")
            if path.suffix == METAL and task_file.exists():
                hint = f"for {task_file}: --kernels {path.parent}, and {name} in place of the file"
            raise DeclarationError(
                f"{path}: there is no task {name!r}; name the task with --task NAME ({hint}). A "
                f"file without a task has no right results: `metalbench check {path}` and "
                f"`metalbench profile {path}` take it"
            ) from None
        if path.suffix == METAL:
            entry = replace(entry, kernel_paths=[path])
            trials += _list_trials_of(entry, device, config, common, path=path)
            continue
        for option in config.launch_options:
            raise click.UsageError(f"{path}: expected no {option} for a Python candidate")
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
    from metalbench.kernel.source_files import read_candidate
    from metalbench.kernelbench.candidates.source import is_local_file, parse_unchecked, read
    from metalbench.run.trial import Stage
    from metalbench.store.result import Failure

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


# Return the trials that ``metalbench run``'s options ask for.


def list_trials(config: TrialConfig, device: Described) -> list[Trial]:
    """Return a trial for every kernel, element type and size; raise click.UsageError for none.

    Problems of a suite that have no kernel are left out, unless they are named. The list is empty
    if the folders of --kernels have no kernels and --allow-empty is given.
    """
    from metalbench.kernel.library import USER, Library, find

    if config.allow_empty and USER not in Library(config.kernels).sets():
        return []
    names, files = split_names(config.names)
    entries = find(names, config.set_name, config.kernels) if names or not files else []
    common = _common_settings(config)
    trials = list_trials_of_files(files, device, config, common) if files else []
    for entry in entries:
        if config.names or not entry.unsolved:
            trials += _list_trials_of(entry, device, config, common)
    if not trials and any(entry.unsolved for entry in entries):
        raise click.UsageError(
            f"none of the {len(entries)} tasks of {config.set_name} has a kernel; write "
            "NAME.metal into a folder given as --kernels"
        )
    if not trials:
        asked = ", ".join(config.dtypes)
        raise click.UsageError(f"no kernel is written for {asked}; see `metalbench list`")
    for size in config.sizes:
        _check_size(size, [trial.entry for trial in trials])
    return trials


def _common_settings(config: TrialConfig) -> dict[str, Any]:
    """Return the settings of all trials; raise click.UsageError if PyTorch is missing."""
    from metalbench.measure.measurement import Plan, TimingMode

    if config.against and find_spec(config.against) is None:
        raise click.UsageError(
            "--against torch: PyTorch is not installed; `pip install 'metalbench[kernelbench]'`"
        )
    return {
        "seed": config.seed,
        "oracle": config.oracle,
        "against": config.against,
        "recheck": config.recheck,
        "plan": Plan(
            seconds=config.seconds, mode=TimingMode.COLD if config.cold else TimingMode.WARM
        ),
    }


def _list_trials_of(
    entry: Entry,
    device: Described,
    config: TrialConfig,
    common: Mapping[str, Any],
    *,
    path: Path | None = None,
) -> list[Trial]:
    """Return a trial for each element type and size; one that fails if the kernel is unreadable.

    The kernel is the one in `path`, by default the entry's.
    """
    from metalbench.errors import DeclarationError
    from metalbench.kernel.header import device_names, read
    from metalbench.run.trial import Trial

    def kernel_for(dtype: str) -> Kernel:
        if path is None:
            found = entry.kernel(device, dtype=dtype, standard=config.standard)
        else:
            found = read(path, entry.name).on(device_names(device))
        standard = config.standard or found.standard
        return replace(found, include_dirs=config.include, standard=standard)

    try:
        of_all_types = read(path or entry.kernel_path(device.chip), entry.name)
        kernels = {dtype: kernel_for(dtype) for dtype in of_all_types.dtypes}
    except DeclarationError as error:
        size = next(iter(config.sizes), None)
        return [Trial.unreadable(entry, error, size=size, **common)]
    wanted = product(_list_dtypes(config, of_all_types), config.sizes or [None])
    return [Trial(entry, kernels[dtype], dtype, size, **common) for dtype, size in wanted]


def list_unsolved(config: TrialConfig) -> tuple[list[str], int]:
    """Return the problems of the set that have no kernel, and the number of its problems."""
    from metalbench.kernel.library import find

    if config.names:
        return [], 0
    entries = find((), config.set_name, config.kernels)
    return [entry.name for entry in entries if entry.unsolved], len(entries)


def apply_tunings(
    trials: Sequence[Trial], device: Described, store: Store, log: Console
) -> list[Trial]:
    """Return the trials with the tunables that `tune` found; print the kernels without any."""
    from metalbench.errors import TaskError
    from metalbench.run.trial import device_facts
    from metalbench.store.environment import engine_on

    facts, engine = device_facts(device), engine_on(device.kind)
    tuned, without = [], []
    for trial in trials:
        found = None
        # A wrong task fails later, in its trial.
        with contextlib.suppress(TaskError):
            size = trial.size_on(device)
            found = store.tuning(
                facts, trial.kernel.hash, engine=engine, dtype=trial.dtype, size=size
            )
        if found is not None:
            tuned.append(replace(trial, tunables=dict(found.values), tuning=str(found)))
            continue
        tuned.append(trial)
        if trial.kernel.tunables:
            without.append(trial.entry.name)
    if without:
        names = ", ".join(dict.fromkeys(without))
        said = f"Not tuned on this device, so with defaults: {names} (see `metalbench tune`)"
        log.print(said, soft_wrap=True, highlight=False)
    return tuned


def _check_size(size: str, entries: Sequence[Entry]) -> None:
    """Raise click.UsageError for a size that no task has."""
    from metalbench.errors import DeclarationError, TaskError
    from metalbench.task.declaration import is_spelled

    known: dict[str, None] = {}
    refused = []
    for entry in entries:
        # A wrong task fails later, in its trial.
        with contextlib.suppress(TaskError):
            try:
                known |= dict.fromkeys(entry.task.sizes)
                entry.task.check_size(size)
            except TaskError:
                raise
            except DeclarationError as error:
                refused.append(str(error))
            else:
                return
    if len(refused) == 1 or (refused and is_spelled(size)):
        raise click.UsageError(f"--size: {refused[0]}")
    if refused:
        raise click.UsageError(f"--size {size}: expected one of {', '.join(known)}")


def _list_dtypes(config: TrialConfig, kernel: Kernel) -> list[str]:
    """Return the element types to run.

    A kernel that is not named runs in those of the wanted types that it is written for. Raises
    DeclarationError for a named kernel that is not written for a wanted type.
    """
    from metalbench.kernel.prepare import check_written_for

    if "all" in config.dtypes:
        return list(kernel.dtypes)
    if not config.names:
        return [each for each in config.dtypes if each in kernel.dtypes]
    for each in config.dtypes:
        check_written_for(kernel, each)
    return list(config.dtypes)
