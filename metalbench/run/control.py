"""One and the same kernel by way of MLX and by way of metalbench, on the same GPU.

What the two ways cost differently would be in every ratio to MLX. Here it stands alone: nothing but
SAME is right. Of the smallest size the boundaries of command buffers are a large part, of the
largest next to nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from metalbench.devices import find_kind
from metalbench.errors import MachineError, MetalBenchError, Unsupported
from metalbench.kernel.header import parse
from metalbench.kernel.prepare import Bound, compile_kernel
from metalbench.measure.analysis import analyse
from metalbench.measure.device_limits import create_probe
from metalbench.measure.measurement import Measurement, Plan
from metalbench.measure.sampling import Progress, Sides, measure
from metalbench.mlx import CustomKernel, MLXKernel, metal_kernel
from metalbench.run.trial import Observer, Stage, Trial, describe_case, device_facts
from metalbench.stats import CONFIDENCE, Interval
from metalbench.stats.location import interval_by_ranks
from metalbench.store.result import Case, Failure, Result, Status
from metalbench.task import normal, output, task
from metalbench.task.workload import Workload, workload

if TYPE_CHECKING:
    from metalbench._core import Device, Dispatch
    from metalbench.reference import Reference


NAME = "path_control"
# A separate set, by which reports distinguish it from kernels of the library.
SET = "control"
SIZES = {"small": dict(n=1 << 16), "large": dict(n=1 << 22), "huge": dict(n=1 << 25)}
SMALLEST = "small"
THREADS = 256
BOUNDARY_WINDOW_NS = 5e6
STEPS = 64
BODY = f"""
  const uint i = thread_position_in_grid.x;
  float value = x[i];
  for (int step = 0; step < {STEPS}; ++step) value = fma(value, 0.5f, 0.25f);
  y[i] = value;
"""
SOURCE = f"""
// One kernel by two ways.
// dispatch: {NAME}  threads_in_grid=(n)  threads=({THREADS})
#include <metal_stdlib>
using namespace metal;
[[kernel]] void {NAME}(device const float* x, device float* y,
                       uint3 thread_position_in_grid [[thread_position_in_grid]]) {{
{BODY}}}
"""


@cache
def _of_mlx() -> CustomKernel | MLXKernel:
    return metal_kernel(NAME, ["x"], ["y"], BODY)


def _run_oracle(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    for _ in range(STEPS):
        x = 0.5 * x + 0.25
    return x


@task(
    sizes=SIZES,
    headline="large",
    inputs=dict(x=normal("n")),
    outputs=dict(y=output("n")),
    oracle=_run_oracle,
    flops=f"{2 * STEPS} * n",
)
def by_mlx(x: Any) -> Any:
    """One kernel by two ways."""
    (y,) = _of_mlx()(
        inputs=[x],
        output_shapes=[x.shape],
        output_dtypes=[x.dtype],
        grid=(x.size, 1, 1),
        threadgroup=(THREADS, 1, 1),
    )
    return y


def describe_control(size: str) -> Case:
    """Return the description of the control for results."""
    return Case(
        task=NAME,
        set=SET,
        description="One kernel by way of metalbench and by way of MLX.",
        size=size,
        sizes=by_mlx.extents(size),
        dtype="float32",
        kernel="metalbench",
        source=SOURCE,
        source_hash=hashlib.sha256(SOURCE.encode()).hexdigest(),
        tunables={},
        reference="mx.fast.metal_kernel",
    )


def work_of_a_pass(size: str) -> tuple[float, float]:
    """Return the floating-point operations and the bytes of a pass."""
    return by_mlx.flops(size), by_mlx.bytes(size, "float32")


def measure_path(
    device: Device, size: str, plan: Plan, progress: Progress | None = None
) -> Measurement:
    """Time the kernel by way of metalbench against MLX's way.

    Raises Unsupported if MLX has no device that corresponds to `device`, MetalBenchError if the two
    results differ.
    """
    from metalbench.reference import create_reference  # imports MLX

    work = workload(by_mlx, size, dtype_name="float32", seed=plan.seed)
    reference, missing = create_reference(device.kind, work)
    if reference is None:
        raise Unsupported(f"[{NAME}] {missing[0]}")
    bound = compile_kernel(device, parse(SOURCE, name=NAME), by_mlx).bind(work)
    _expect_the_same(device, bound, reference)
    sides = Sides(bound.dispatches, reference, probe=create_probe(device))
    measured = measure(device, sides, plan, progress=progress)
    if not find_kind(device.kind).runs_mlx_on_metal or size != SMALLEST:
        return measured
    cost = command_buffer_ns(device, bound.dispatches, plan.seed)
    remark = f"a pass takes {_microseconds(cost)} of GPU time more in a separate command buffer"
    return replace(measured, remarks=(*measured.remarks, remark))


def command_buffer_ns(device: Device, dispatches: Sequence[Dispatch], seed: int = 0) -> Interval:
    """Return the additional GPU time in ns of a pass in a separate command buffer.

    It is compared with passes in the command buffers that metalbench uses.
    """
    samples = device.sample(
        dispatches,
        dispatches,
        passes_per_command_buffer=1,
        window_ns=BOUNDARY_WINDOW_NS,
        seed=seed,
    )
    differences = samples.device_ns - samples.reference_device_ns
    return interval_by_ranks(differences, differences.size, CONFIDENCE)


def _microseconds(interval: Interval) -> str:
    low, high = interval.low / 1e3, interval.high / 1e3
    return f"{interval.value / 1e3:.1f} us [{low:.1f}, {high:.1f}]"


def _expect_the_same(device: Device, bound: Bound, reference: Reference) -> None:
    device.run(bound.dispatches)
    (theirs,) = reference.outputs_of(reference.form)
    ours = bound.read("y")
    if not np.allclose(ours, theirs, rtol=1e-6):
        worst = int(np.argmax(np.abs(ours - theirs)))
        raise MetalBenchError(
            f"[{NAME}] y[{worst}]: MLX computes {theirs[worst]:.9g}, metalbench {ours[worst]:.9g}: "
            "one of them does not run this kernel, so that no ratio to MLX can be trusted"
        )


# Controls: time the reference against itself, and one kernel by two ways. Both must be SAME.


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

    `size` is one of `SIZES`. Failures are in the result. Raises as `attempt`.
    """
    case = describe_control(size)

    def measure_control() -> tuple[Measurement, Case]:
        return measure_path(device, size, plan, observer.stage_progress), case

    return _result(device, case, work_of_a_pass(size), measure_control, observer)


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
        analysis=analyse(measured, *work, simulated=find_kind(device.kind).is_simulated),
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
    from metalbench.run.reference_forms import choose_form

    one, missing = create_reference(device.kind, work)
    if one is None:
        raise Unsupported(f"[{work.task.name}] nothing to compare with itself: {missing[0]}")
    window_s = plan.window_ns_on(own_clock=device.own_clock) / 1e9
    with device.thread_qos():
        forms = choose_form(one, seed=plan.seed, window_s=window_s).forms
    measured = measure(device, Sides(one, one, alike=True), plan, progress=progress)
    return replace(measured, forms=forms), one.name
