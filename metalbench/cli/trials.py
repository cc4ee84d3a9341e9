"""What ``metalbench run``'s options ask to be tried."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from itertools import product
from typing import TYPE_CHECKING, Any

import click

from metalbench.cli.candidates import files_among, trials_of_files

if TYPE_CHECKING:
    from rich.console import Console

    from metalbench.kernel import Kernel
    from metalbench.kernel.library import Entry
    from metalbench.run.observed import Described
    from metalbench.run.trial import Trial
    from metalbench.store import Store


def trials_for(options: Mapping[str, Any], device: Described) -> list[Trial]:
    """Every kernel of every element type that was asked for; raises click.UsageError for none.

    Of a suite those problems are left out that have no kernel, unless they are named.
    """
    from metalbench.kernel.library import find

    names, files = files_among(options["names"])
    entries = find(names, options["set_name"], options["kernels"]) if names or not files else []
    common = _common(options)
    trials = trials_of_files(files, options, common) if files else []
    for entry in entries:
        if options["names"] or not entry.unsolved:
            trials += _trials_of(entry, device, options, common)
    if not trials and any(entry.unsolved for entry in entries):
        raise click.UsageError(
            f"none of the {len(entries)} tasks of {options['set_name']} has a kernel; write "
            "NAME.metal into a folder given as --kernels"
        )
    if not trials:
        asked = ", ".join(options["dtypes"])
        raise click.UsageError(f"no kernel is written for {asked}; see `metalbench list`")
    for size in options["sizes"]:
        _check_size(size, [trial.entry for trial in trials])
    return trials


def _common(options: Mapping[str, Any]) -> dict[str, Any]:
    """What all trials have; raises click.UsageError where PyTorch is asked for and not there."""
    from metalbench.measure import Mode, Plan

    if options.get("against") and find_spec(options["against"]) is None:
        raise click.UsageError(
            "--against torch: PyTorch is not installed; `pip install 'metalbench[kernelbench]'`"
        )
    return {
        "seed": options["seed"],
        "oracle": options.get("oracle", "all"),
        "against": options.get("against") or "",
        "plan": Plan(seconds=options["seconds"], mode=Mode.COLD if options["cold"] else Mode.WARM),
    }


def _trials_of(
    entry: Entry, device: Described, options: Mapping[str, Any], common: Mapping[str, Any]
) -> list[Trial]:
    """One for each element type and size; of a kernel that cannot be read one that fails."""
    from metalbench.errors import DeclarationError
    from metalbench.run.trial import Trial

    try:
        kernel = replace(entry.kernel(device), include_dirs=options["include"])
    except DeclarationError as error:
        size = next(iter(options["sizes"]), None)
        return [Trial.unreadable(entry, error, size=size, **common)]
    wanted = product(_dtypes(options, kernel), options["sizes"] or [None])
    return [Trial(entry, kernel, dtype, size, **common) for dtype, size in wanted]


def unsolved(options: Mapping[str, Any]) -> tuple[list[str], int]:
    """Names of the set's problems that have no kernel, and how many problems it has."""
    from metalbench.kernel.library import find

    if options["names"]:
        return [], 0
    entries = find((), options["set_name"], options["kernels"])
    return [entry.name for entry in entries if entry.unsolved], len(entries)


def with_tunings(
    trials: Sequence[Trial], device: Described, store: Store, log: Console
) -> list[Trial]:
    """Return the trials with the tunables that were found for them; tell of those without any."""
    from metalbench.errors import TaskError
    from metalbench.result.environment import engine_on
    from metalbench.run.observed import device_facts

    facts, engine = device_facts(device), engine_on(device.kind)
    tuned, without = [], []
    for trial in trials:
        found = None
        # A task that is wrong is told of when it is its turn.
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
    """Refuse a size that no task has; a task that lacks what others have is not tried."""
    from metalbench.errors import DeclarationError, TaskError
    from metalbench.task.sizes import is_spelled

    known: dict[str, None] = {}
    refused = []
    for entry in entries:
        # A file that is wrong is told of when it is its turn.
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


def _dtypes(options: Mapping[str, Any], kernel: Kernel) -> list[str]:
    """Types to run: of a kernel that was named whatever was asked, else what it is written for.

    Raises DeclarationError for a named kernel that is not written for what was asked.
    """
    from metalbench.kernel.prepare import check_written_for

    if "all" in options["dtypes"]:
        return list(kernel.dtypes)
    if not options["names"]:
        return [each for each in options["dtypes"] if each in kernel.dtypes]
    for each in options["dtypes"]:
        check_written_for(kernel, each)
    return list(options["dtypes"])
