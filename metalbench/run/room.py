"""Whether a trial fits where it is to run: memory and time, estimated before anything is allocated.

Both are of the arrays that a task declares, and of the largest that its reference makes on the way,
where that is known. They are rough: rates are those of a small machine with two cores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from metalbench.errors import DeclarationError
from metalbench.isolation.limits import Limits
from metalbench.task import Task
from metalbench.task.dtypes import dtype

if TYPE_CHECKING:
    from metalbench.run.observed import Described
    from metalbench.run.trial import Trial

GIB = 1 << 30
# What a process holds before it has an array: Python, NumPy, MLX, the engine.
BEGIN_BYTES = 300 << 20
# Of the arrays a judge holds those of two seeds; the oracle's are twice as wide.
SETS, WIDE = 2, 8
# Passes of a kernel over its arrays in checks of all seeds, and of the oracle.
RUNS, ORACLES = 30, 6
# What the cpu device, NumPy in float64, and drawing, copying and comparing reach, a second. Of the
# first it is what good kernels of products do there: nothing that fits is to be left out.
SIMULATED_FLOPS, NUMPY_FLOPS, COPIED_BYTES = 50e9, 20e9, 1e9
# The cpu device ends a launch that takes longer.
LAUNCH_S = 10.0


@dataclass(frozen=True, slots=True)
class Room:
    """What there is: `host_bytes` and `seconds` for a trial, `device_bytes` of a GPU's own."""

    host_bytes: int
    seconds: float
    device_bytes: int | None = None

    @classmethod
    def of(cls, device: Described, limits: Limits) -> Room:
        """What a device tells of its memory, and the limits of a kernel's process."""
        told = device.capabilities.get("memory_bytes") if device.kind == "cuda" else None
        return cls(limits.memory_bytes, limits.seconds, told if isinstance(told, int) else None)


@dataclass(frozen=True, slots=True)
class Need:
    """What a trial takes at the least: memory of the host and of the device, and time."""

    host_bytes: int
    device_bytes: int
    seconds: float


def estimate_requirement(
    task: Task, size: str, dtype_name: str, kind: str, *, asks: bool = True
) -> Need:
    """Estimate what checking and timing `task` takes on a device of that kind.

    Without what the oracle takes if that is not asked (`asks`) at `size`.
    """
    values, run = task.values(size), dtype(dtype_name)
    given = _bytes(task, "inputs", values, run.nbytes)
    made = _bytes(task, "outputs", values, run.nbytes)
    between = 4 * task.largest(values) if task.largest is not None else 0
    arrays = SETS * given + made
    # The oracle's copies, and what errors are compared in; then what the device and MLX hold.
    oracle = WIDE // run.nbytes * (given + 2 * made) + WIDE // 4 * between if asks else 2 * made
    on_device = 2 * arrays + between
    host = BEGIN_BYTES + arrays + oracle + (on_device if kind == "cpu" else 0)
    flops = task.flops(size)
    simulated = RUNS * flops / SIMULATED_FLOPS if kind == "cpu" else 0.0
    seconds = simulated + (RUNS + ORACLES) * (given + made) / COPIED_BYTES
    if asks:
        seconds += ORACLES * flops / NUMPY_FLOPS
    return Need(host, on_device if kind != "cpu" else 0, seconds)


def check_budget(trial: Trial, device: Described, limits: Limits) -> None:
    """Raise DeclarationError, with the figures, for a trial that fits neither memory nor time."""
    from metalbench.run.trial import ALL
    from metalbench.verify import small_sizes

    task, size = trial.entry.task, trial.size_on(device)
    asks = trial.oracle == ALL or size in small_sizes(task)
    need = estimate_requirement(task, size, trial.dtype, device.kind, asks=asks)
    room = Room.of(device, limits)
    lacks = []
    if need.host_bytes > room.host_bytes:
        lacks.append(_lack("memory", need.host_bytes / GIB, room.host_bytes / GIB, "GiB"))
    if room.device_bytes is not None and need.device_bytes > room.device_bytes:
        told = f"memory of {device.name}"
        lacks.append(_lack(told, need.device_bytes / GIB, room.device_bytes / GIB, "GiB"))
    if need.seconds > room.seconds:
        lacks.append(_lack("time", need.seconds, room.seconds, "s"))
    launch_s = task.flops(size) / SIMULATED_FLOPS if device.kind == "cpu" else 0.0
    if launch_s > LAUNCH_S:
        lacks.append(_lack("time of a launch", launch_s, LAUNCH_S, "s"))
    if lacks:
        raise DeclarationError(
            f"[{task.name}] size {size} does not fit on the {device.kind} device, as estimated: "
            f"{'; '.join(lacks)}. Take a smaller --size, or raise --memory-limit or "
            "--kernel-timeout"
        )


def _lack(what: str, need: float, there: float, unit: str) -> str:
    return f"{what}: {need:.3g} {unit} at least, and {there:.3g} {unit} may be taken"


def _bytes(task: Task, kind: str, values: dict[str, int], itemsize: int) -> int:
    total = 0
    for each in getattr(task, kind).values():
        elements = 1
        for extent in each.shape_at(values):
            elements *= extent
        total += elements * (each.dtype.nbytes if each.dtype is not None else itemsize)
    return total
