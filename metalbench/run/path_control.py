"""One and the same kernel by way of MLX and by way of metalbench, on the same GPU.

What the two ways cost differently would be in every ratio to MLX. Here it stands alone: nothing but
SAME is right. Of the smallest size the boundaries of command buffers are a large part, of the
largest next to nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from metalbench.custom_kernel import CustomKernel, MLXKernel, metal_kernel
from metalbench.errors import MetalBenchError, Unsupported
from metalbench.kernel import parse
from metalbench.kernel.prepare import Bound, compile_kernel
from metalbench.measure import Measurement, Plan, Sides, measure
from metalbench.measure.probe import create_probe
from metalbench.measure.series import Progress
from metalbench.result import Case
from metalbench.stats import CONFIDENCE, Interval
from metalbench.stats.median import interval_by_ranks
from metalbench.task import normal, output, task
from metalbench.task.workload import workload

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


def case(size: str) -> Case:
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
    if device.kind != "metal" or size != SMALLEST:
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
