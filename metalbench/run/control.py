"""Controls: time the reference against itself, and one kernel by two ways. Both must be SAME."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING

from metalbench.analysis import analyse
from metalbench.errors import MachineError, MetalBenchError, Unsupported
from metalbench.measure import Measurement, Plan, Sides, measure
from metalbench.measure.series import Progress
from metalbench.result import Failure, Result, Status
from metalbench.run import path_control
from metalbench.run.observed import device_facts
from metalbench.run.stages import Observer, Stage
from metalbench.run.trial import Trial, describe_case
from metalbench.task.workload import Workload, workload

if TYPE_CHECKING:
    from metalbench._core import Device
    from metalbench.result import Case


def attempt_control(device: Device, trial: Trial, observer: Observer) -> Result:
    """Time the reference of a trial's task against itself.

    The kernel of the result has the reference's name. Failures are in the result. Raises as
    `attempt`.
    """
    trial.check()
    task = trial.entry.task
    size = trial.size_on(device)
    nothing = hashlib.sha256(b"").hexdigest()
    case = replace(describe_case(trial, task, device), source="", source_hash=nothing, tunables={})

    def measure_control() -> tuple[Measurement, Case]:
        work = workload(task, size, dtype_name=trial.dtype, seed=trial.seed)
        plan = replace(trial.plan, seed=trial.seed)
        measured, name = measure_against_itself(device, work, plan, observer.stage_progress)
        return measured, replace(case, kernel=name, reference=name)

    done = task.flops(size), task.bytes(size, trial.dtype)
    return _result(device, case, done, measure_control, observer)


def attempt_path(device: Device, size: str, plan: Plan, observer: Observer) -> Result:
    """Time one kernel by metalbench against the same kernel by MLX, on the same GPU.

    `size` is one of `path_control.SIZES`. Failures are in the result. Raises as `attempt`.
    """
    case = path_control.case(size)

    def measure_control() -> tuple[Measurement, Case]:
        return path_control.measure_path(device, size, plan, observer.stage_progress), case

    return _result(device, case, path_control.work_of_a_pass(size), measure_control, observer)


def _result(
    device: Device,
    case: Case,
    work: tuple[float, float],
    measure_control: Callable[[], tuple[Measurement, Case]],
    observer: Observer,
) -> Result:
    """Measure and return the result. `work` is the operations and bytes of a pass."""
    start = perf_counter()
    observer.stage_started(Stage.MEASURE)
    try:
        measured, case = measure_control()
    except MachineError:
        raise
    except MetalBenchError as error:
        failure = Failure(Stage.MEASURE.value, type(error).__name__, str(error))
        seconds = perf_counter() - start
        facts = device_facts(device)
        return Result(case, facts, Status.FAILED, failures=(failure,), seconds=seconds)
    return Result(
        case=case,
        device=device_facts(device),
        status=Status.CORRECT,
        notes=measured.doubts,
        measurement=measured,
        analysis=analyse(measured, *work, simulated=device.kind == "cpu"),
        seconds=perf_counter() - start,
        state=device.state(),
    )


def measure_against_itself(
    device: Device, work: Workload, plan: Plan, progress: Progress | None = None
) -> tuple[Measurement, str]:
    """Time the fastest form of a reference against itself; return times and the form's name.

    Both sides are one object: they have the same compiled form, inputs, memory and graphs, and
    windows of the same length. Two objects, of which only one has run before, differ by up to 14 %.

    Raises Unsupported if MLX has no device that corresponds to `device`.
    """
    from metalbench.reference import create_reference  # imports MLX
    from metalbench.run.contest import choose_form

    one, missing = create_reference(device.kind, work)
    if one is None:
        raise Unsupported(f"[{work.task.name}] nothing to compare with itself: {missing[0]}")
    window_s = plan.window_ns_on(own_clock=device.own_clock) / 1e9
    with device.thread_qos():
        forms = choose_form(one, seed=plan.seed, window_s=window_s).forms
    measured = measure(device, Sides(one, one, alike=True), plan, progress=progress)
    return replace(measured, forms=forms), one.name
