"""Which form of a reference was the one to beat, remembered for a week on the same machine.

To find the fastest form takes about as long as to time a kernel against it, and comes out the same
as long as MLX, the machine and what MLX is asked for are.
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
    """What an earlier contest has choice, if that holds; `reference` then runs the form to beat.

    `device` is the device's name, `mode` where the inputs are when a pass begins.
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
            FormTime(name, None, compared=name == best.name, fault=_fault(fault, slower, day))
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
    """Remember a contest that has found the form to beat; of one that has not, nothing."""
    key = _key(reference, device, mode)
    best = next((form for form in choice.forms if form.compared), None)
    if key is None or not choice.decided or best is None or best.time_ns is None:
        return
    forms = [(form.name, _slower(form, best.time_ns), form.fault) for form in choice.forms]
    record = {"at": now(), "best": best.name, "forms": forms, "doubts": choice.doubts}
    cache.store(key, record)


def _slower(form: FormTime, best: Interval) -> float | None:
    """How many times as slow; None of the form to beat, and of one that was not timed."""
    if form.compared or form.time_ns is None:
        return None
    return form.time_ns.value / best.value


def _fault(fault: str, slower: float | None, day: str) -> str:
    return fault if slower is None else NOT_TIMED_AGAIN.format(slower, day)


def _key(reference: Reference, device: str, mode: str) -> str | None:
    """Of all that decides which form is the fastest; None if that cannot be told.

    What is computed is as MLX draws it: names of operations, in order.
    """
    work = reference.workload
    try:
        operations = [reference.operations_of(form) for form in reference.forms]
    except Exception:  # the task's own code; what is wrong with it shows when it runs
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
    """What MLX compiles with on a CPU; where it is another one, another form may be the fastest."""
    program = shutil.which("g++")
    if program is None:
        return ""
    found = Path(program).resolve()
    return repr((str(found), found.stat().st_size, found.stat().st_mtime_ns))
