"""Estimate the memory and time of a trial, and check them against the budget before it starts.

Estimates count the arrays that a task declares and the largest intermediate array of its reference,
if known. They are rough: rates are those of a small machine with two cores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from metalbench.devices import find_kind
from metalbench.errors import DeclarationError
from metalbench.sandbox.resources import Limits
from metalbench.task import Task
from metalbench.task.dtypes import dtype

if TYPE_CHECKING:
    from metalbench.run.trial import Described, Trial

GIB = 1 << 30
# Memory of a process without arrays: Python, NumPy, MLX, the engine.
BEGIN_BYTES = 300 << 20
# A judge holds the arrays of two seeds. The oracle's have 8 bytes an element.
SETS, WIDE = 2, 8
# Passes of the kernel and of the oracle over the arrays, in checks of all seeds.
RUNS, ORACLES = 30, 6
# Rates per second of the cpu device, of NumPy in float64, and of drawing, copying and comparing.
# The first is that of good matrix products, so that no trial that fits is refused.
SIMULATED_FLOPS, NUMPY_FLOPS, COPIED_BYTES = 50e9, 20e9, 1e9
# The cpu device ends a longer launch.
LAUNCH_S = 10.0


@dataclass(frozen=True, slots=True)
class Budget:
    """The memory and time that a trial may use; `device_bytes` is memory of a discrete GPU."""

    host_bytes: int
    seconds: float
    device_bytes: int | None = None

    @classmethod
    def of(cls, device: Described, limits: Limits) -> Budget:
        """Return the budget of a device, with the limits of a kernel's process."""
        separate = find_kind(device.kind).has_separate_memory
        memory = device.capabilities.get("memory_bytes") if separate else None
        return cls(limits.memory_bytes, limits.seconds, memory if isinstance(memory, int) else None)


@dataclass(frozen=True, slots=True)
class Requirement:
    """The least memory of host and device, and the least time in s, of a trial."""

    host_bytes: int
    device_bytes: int
    seconds: float


def estimate_requirement(
    task: Task, size: str, dtype_name: str, kind: str, *, asks: bool = True
) -> Requirement:
    """Estimate the memory and time of checking and timing `task` on a device of that kind.

    `asks` is False if the oracle does not run at `size`.
    """
    values, run = task.values(size), dtype(dtype_name)
    given = _bytes(task, "inputs", values, run.nbytes)
    made = _bytes(task, "outputs", values, run.nbytes)
    between = 4 * task.largest(values) if task.largest is not None else 0
    arrays = SETS * given + made
    # The oracle's copies, and what errors are compared in; then what the device and MLX hold.
    oracle = WIDE // run.nbytes * (given + 2 * made) + WIDE // 4 * between if asks else 2 * made
    on_device = 2 * arrays + between
    is_simulated = find_kind(kind).is_simulated
    host = BEGIN_BYTES + arrays + oracle + (on_device if is_simulated else 0)
    flops = task.flops(size)
    simulated = RUNS * flops / SIMULATED_FLOPS if is_simulated else 0.0
    seconds = simulated + (RUNS + ORACLES) * (given + made) / COPIED_BYTES
    if asks:
        seconds += ORACLES * flops / NUMPY_FLOPS
    return Requirement(host, 0 if is_simulated else on_device, seconds)


def check_budget(trial: Trial, device: Described, limits: Limits) -> None:
    """Raise DeclarationError, with the figures, for a trial that exceeds memory or time."""
    from metalbench.run.trial import ALL
    from metalbench.verify import small_sizes

    task, size = trial.entry.task, trial.size_on(device)
    asks = trial.oracle == ALL or size in small_sizes(task)
    required = estimate_requirement(task, size, trial.dtype, device.kind, asks=asks)
    budget = Budget.of(device, limits)
    lacks = []
    if required.host_bytes > budget.host_bytes:
        lacks.append(
            _describe_lack("memory", required.host_bytes / GIB, budget.host_bytes / GIB, "GiB")
        )
    if budget.device_bytes is not None and required.device_bytes > budget.device_bytes:
        name = f"memory of {device.name}"
        lacks.append(
            _describe_lack(name, required.device_bytes / GIB, budget.device_bytes / GIB, "GiB")
        )
    if required.seconds > budget.seconds:
        lacks.append(_describe_lack("time", required.seconds, budget.seconds, "s"))
    launch_s = task.flops(size) / SIMULATED_FLOPS if find_kind(device.kind).is_simulated else 0.0
    if launch_s > LAUNCH_S:
        lacks.append(_describe_lack("time of a launch", launch_s, LAUNCH_S, "s"))
    if lacks:
        raise DeclarationError(
            f"[{task.name}] size {size} does not fit on the {device.kind} device, as estimated: "
            f"{'; '.join(lacks)}. Take a smaller --size, or raise --memory-limit or "
            "--kernel-timeout"
        )


def _describe_lack(what: str, required: float, budget: float, unit: str) -> str:
    return f"{what}: {required:.3g} {unit} at least, and {budget:.3g} {unit} may be taken"


def _bytes(task: Task, kind: str, values: dict[str, int], itemsize: int) -> int:
    total = 0
    for each in getattr(task, kind).values():
        elements = 1
        for extent in each.shape_at(values):
            elements *= extent
        total += elements * (each.dtype.nbytes if each.dtype is not None else itemsize)
    return total
