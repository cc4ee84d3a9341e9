"""Store the choice of a reference's form for a week, in the build cache.

A contest takes about as long as timing a kernel. Its outcome is the same for the same MLX, machine
and operations.
"""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from metalbench.measure import FormTime
from metalbench.msl.building import cache
from metalbench.reference.chain import Reference
from metalbench.run.contest import FormChoice
from metalbench.stats import Interval

LASTS_S = 7 * 86_400
NOT_TIMED_AGAIN = "not timed again: it was {:.2f}x as slow in a contest of {}"


def load_choice(
    reference: Reference, device: str, mode: str, *, now: Callable[[], float] = time.time
) -> FormChoice | None:
    """Load the choice of an earlier contest, None if there is none; `reference` then runs it.

    `device` is the name of the device, `mode` that of the `Mode`.
    """
    key = _key(reference, device, mode)
    record = None if key is None else cache.load(key)
    if record is None or not 0 <= now() - record["at"] < LASTS_S:
        return None
    day = time.strftime("%Y-%m-%d", time.gmtime(record["at"]))
    best = next(form for form in reference.forms if form.name == record["best"])
    reference.form = best
    return FormChoice(
        tuple(
            FormTime(
                name,
                None,
                compared=name == best.name,
                fault=fault if slower is None else NOT_TIMED_AGAIN.format(slower, day),
            )
            for name, slower, fault in record["forms"]
        ),
        tuple(record["doubts"]),
        decided=True,
    )


def store_choice(
    choice: FormChoice,
    reference: Reference,
    device: str,
    mode: str,
    *,
    now: Callable[[], float] = time.time,
) -> None:
    """Store a choice, if the contest was decided."""
    key = _key(reference, device, mode)
    best = next((form for form in choice.forms if form.compared), None)
    if key is None or not choice.decided or best is None or best.time_ns is None:
        return
    forms = [(form.name, _slower(form, best.time_ns), form.fault) for form in choice.forms]
    record = {"at": now(), "best": best.name, "forms": forms, "doubts": choice.doubts}
    cache.store(key, record)


def _slower(form: FormTime, best: Interval) -> float | None:
    """Return how many times slower a form is; None for the chosen one and forms without a time."""
    if form.compared or form.time_ns is None:
        return None
    return form.time_ns.value / best.value


def _key(reference: Reference, device: str, mode: str) -> str | None:
    """Return a key of everything that decides which form is the fastest; None if it is unknown.

    The operations of a form are the names in MLX's drawing of its graph, in order.
    """
    work = reference.workload
    try:
        operations = [reference.operations_of(form) for form in reference.forms]
    except Exception:  # the task's code; its faults show when it runs
        return None
    return cache.digest(
        "form",
        importlib.metadata.version("mlx"),
        _compiler(),
        device,
        repr((os.cpu_count(), mode)),
        work.task.name,
        repr(work.task.against),
        repr(sorted(work.task.constants.items())),
        repr([(name, each.shape, str(each.dtype)) for name, each in work.inputs.items()]),
        repr([(form.kind, form.name) for form in reference.forms]),
        repr(operations),
    )


def _compiler() -> str:
    """Return the identity of MLX's compiler on a CPU. Another one may favour another form."""
    program = shutil.which("g++")
    if program is None:
        return ""
    found = Path(program).resolve()
    return repr((str(found), found.stat().st_size, found.stat().st_mtime_ns))
