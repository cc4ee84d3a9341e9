"""A control: the reference against itself, where nothing but SAME is right."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter, perf_counter_ns, sleep
from typing import TYPE_CHECKING, Any

from metalbench.analysis import analyse
from metalbench.errors import MachineError, MetalBenchError, Unsupported
from metalbench.measure import Measurement, Plan, Sides, measure
from metalbench.measure.series import Progress
from metalbench.result import Failure, Result, Status
from metalbench.run.observed import device_facts
from metalbench.run.stages import Observer, Stage
from metalbench.run.trial import Trial, case_of
from metalbench.task.workload import Workload, workload

if TYPE_CHECKING:
    from metalbench._core import Device, Samples

Run = Callable[[int], None]


def attempt_control(device: Device, trial: Trial, observer: Observer) -> Result:
    """Time the reference of a trial's task against itself, as kernels are timed against it.

    The result's kernel is called after the reference. What goes wrong is in the result; raises as
    `attempt` does.
    """
    trial.check()
    start = perf_counter()
    observer.stage_started(Stage.MEASURE)
    task = trial.entry.task
    case = case_of(trial, task, device.kind)
    try:
        size = trial.size_on(device.kind)
        work = workload(task, size, dtype_name=trial.dtype, seed=trial.seed)
        plan = replace(trial.plan, seed=trial.seed)
        measured, name = against_itself(device, work, plan, observer.stage_progress)
    except MachineError:
        raise
    except MetalBenchError as error:
        failure = Failure(Stage.MEASURE.value, type(error).__name__, str(error))
        seconds = perf_counter() - start
        facts = device_facts(device)
        return Result(case, facts, Status.FAILED, failures=(failure,), seconds=seconds)
    done = task.flops(size), task.bytes(size, trial.dtype)
    nothing = hashlib.sha256(b"").hexdigest()
    return Result(
        case=replace(
            case, kernel=name, source="", source_hash=nothing, tunables={}, reference=name
        ),
        device=device_facts(device),
        status=Status.CORRECT,
        notes=measured.doubts,
        measurement=measured,
        analysis=analyse(measured, *done, simulated=device.kind == "cpu"),
        seconds=perf_counter() - start,
        state=device.state(),
    )


def against_itself(
    device: Device, work: Workload, plan: Plan, progress: Progress | None = None
) -> tuple[Measurement, str]:
    """Time the fastest form of a reference against itself; the measurement, and the form's name.

    Raises Unsupported where MLX has nothing to be timed on beside `device`.
    """
    from metalbench.reference import reference_beside  # and with it MLX
    from metalbench.run.contest import settle

    one, missing = reference_beside(device.kind, work)
    other, _ = reference_beside(device.kind, work)
    if one is None or other is None:
        raise Unsupported(f"[{work.task.name}] nothing to compare with itself: {missing[0]}")
    forms = settle(one, seed=plan.seed).forms
    other.form = next(form for form in other.forms if form.name == one.name)
    measured = measure(HostTimed(), Sides(one, other), plan, progress=progress)
    return replace(measured, forms=forms), one.name


@dataclass(frozen=True)
class HostTimed:
    """Times functions that run so many passes to completion, by the host's clock."""

    own_clock: bool = False

    def sample(
        self, candidate: Run, reference: Run | None = None, *, probe: Sequence[Any], **plan: Any
    ) -> Samples:
        """Samples as of a device, but of functions; there is no probe, nor anything empty."""
        from metalbench import _core

        return _core.sample_script(
            _timed(candidate),
            None if reference is None else _timed(reference),
            now_ns=lambda: float(perf_counter_ns()),
            rest=lambda ns: sleep(ns / 1e9),
            **plan,
        )


def _timed(run: Run) -> Callable[[int], float]:
    def timed(passes: int) -> float:
        start = perf_counter_ns()
        run(passes)
        return float(perf_counter_ns() - start)

    return timed
