"""Time a StableHLO program and its rivals, and count its bytes, operations and peak memory.

Each kernel counts every buffer that it reads or writes once, with its full size. The least bytes
are those of arguments and results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import ml_dtypes
import numpy as np

from metalbench.errors import MetalBenchError, Unsupported
from metalbench.hlo.bench.catalogue import draw_arguments
from metalbench.hlo.bench.rivals import MlxProgram, XlaProgram
from metalbench.hlo.codegen import GeneratedKernel
from metalbench.hlo.ir import ELEMENT_TYPES, TensorType
from metalbench.hlo.runtime.compilation import import_program
from metalbench.hlo.runtime.costs import count_moved_bytes, count_plan_bytes, count_work
from metalbench.hlo.runtime.executable import Executable, to_storage, upload_array
from metalbench.hlo.runtime.plan import ExecutionPlan, build_plan, compute_live_bytes
from metalbench.measure.device_limits import create_probe
from metalbench.measure.measurement import Measurement, Plan
from metalbench.measure.sampling import Sides, measure


@dataclass(frozen=True, slots=True)
class Utilisation:
    """Counts of one program; `kernels_before` is the number of kernels at -O 0.

    `live_bytes` is the peak of live buffers: arguments, constants and temporaries. `flops` counts
    one operation for each element, and two for each term of a product. `has_loops` says that the
    program has control flow, so that bytes and flops are those of one iteration.
    """

    kernels_before: int
    kernels: int
    moved_bytes: int
    least_bytes: int
    flops: int
    live_bytes: int
    has_loops: bool

    @property
    def moved(self) -> float:
        """Bytes that kernels move, divided by the least bytes."""
        return self.moved_bytes / max(self.least_bytes, 1)


def count_plan(unfused: ExecutionPlan, plan: ExecutionPlan) -> Utilisation:
    """Return the counts of a plan; `unfused` is the plan of the same program at -O 0."""
    ends = dict.fromkeys([*plan.block.arguments, *plan.block.returned])
    return Utilisation(
        kernels_before=len(list(unfused.iterate_kernels())),
        kernels=len(list(plan.iterate_kernels())),
        moved_bytes=count_plan_bytes(plan),
        least_bytes=sum(each.type.nbytes for each in ends),
        flops=count_work(unfused.block).total,
        live_bytes=compute_live_bytes(plan),
        has_loops=any(step.plans for step in plan.steps),
    )


def list_launches(plan: ExecutionPlan) -> Iterator[GeneratedKernel]:
    """Yield the kernels of a plan without control flow, in their order."""
    for step in plan.steps:
        yield from (each for each in step.kernels if each.threads)


# Time a program in pairs with XLA and with MLX, and each of its kernels alone.

Array = np.ndarray[Any, Any]
# Share of a program's sampling time for all kernels alone.
SHARE_OF_KERNELS = 0.5
# Seconds of one run: an endless loop must not block the following programs.
RUN_LIMIT = 60.0
# Largest difference from a rival's results, relative to their largest number.
TOLERANCES = {
    "f16": 2e-2,
    "bf16": 8e-2,
    "f32": 2e-3,
    "complex<f32>": 2e-3,
    "f64": 1e-11,
    "complex<f64>": 1e-11,
    # One unit in the last place, and a little for the sums before the rounding.
    **{
        name: 1.01 * 2.0 ** -ml_dtypes.finfo(each.storage).nmant  # type: ignore[no-untyped-call]
        for name, each in ELEMENT_TYPES.items()
        if each.is_small_float
    },
}


class Rival(Protocol):
    """An implementation that runs the same program on the same arrays."""

    name: str
    version: str

    def compute_results(self) -> list[Array]:
        """Return the results."""

    def __call__(self, times: int) -> None:
        """Run the program `times` times to completion."""


@dataclass(frozen=True)
class Subject:
    """A program to time: its name and text; `family` is empty for a file."""

    name: str
    text: str | bytes
    family: str = ""


@dataclass(frozen=True)
class KernelTime:
    """The time of one kernel alone, and its share of the sum over all kernels."""

    name: str
    time_ns: float
    share: float
    moved_bytes: int


@dataclass(frozen=True)
class RivalResult:
    """The measurement of a program in pairs with one rival.

    Without a measurement, `why` is the reason.
    """

    name: str
    version: str = ""
    measurement: Measurement | None = None
    why: str = ""


@dataclass(frozen=True)
class ProgramResult:
    """The results of one program; `why` is the reason of a failure, or empty."""

    subject: Subject
    level: int
    inputs: tuple[TensorType, ...] = ()
    source: str = ""
    use: Utilisation | None = None
    against: tuple[RivalResult, ...] = ()
    kernels: tuple[KernelTime, ...] = ()
    why: str = ""

    @property
    def measurement(self) -> Measurement | None:
        """Measurement against the first available rival, or of the program alone."""
        found = [each.measurement for each in self.against if each.measurement is not None]
        return found[0] if found else None

    @property
    def compared(self) -> RivalResult | None:
        """Rival of `measurement`."""
        return next((each for each in self.against if each.measurement is not None), None)

    def compute_percentile(self, percent: float) -> float | None:
        """Return a percentile of the time of a run, in ns, from the samples of `measurement`."""
        found = self.measurement
        return None if found is None else float(np.percentile(found.samples.candidate_ns, percent))

    def compute_flops_per_second(self) -> float | None:
        """Return the operations a second; None without a time or with control flow."""
        found, use = self.measurement, self.use
        if found is None or use is None or use.has_loops:
            return None
        return use.flops / found.work_ns.value * 1e9


def time_program(
    subject: Subject,
    *,
    level: int = 2,
    device: str = "auto",
    seconds: float = 2.0,
    seed: int = 0,
    rivals: Sequence[str] = ("xla", "mlx"),
) -> ProgramResult:
    """Compile a program, check it against the rivals, and time it; `seconds` is for each rival."""
    result = ProgramResult(subject, level)
    try:
        executable = Executable(
            import_program(subject.text, subject.name),
            level=level,
            device=device,
            run_limit=RUN_LIMIT,
        )
        result = replace(result, inputs=tuple(executable.inputs), source=executable.source)
        unfused = build_plan(
            import_program(subject.text, subject.name), 0, device=executable.device.kind
        )
        result = replace(result, use=count_plan(unfused, executable.plan))
        given = draw_arguments(executable.inputs, seed)
        found = executable(*given)
        timer = _ProgramTimer(executable, given, Plan(seconds=seconds, seed=seed))
        against = [
            timer.compare(kind, partial, found)
            for kind, partial in _list_rivals(subject, given).items()
            if kind in rivals
        ]
        if all(each.measurement is None for each in against):
            against.append(RivalResult("", measurement=timer.measure_alone()))
        return replace(result, against=tuple(against), kernels=tuple(timer.measure_kernels()))
    except MetalBenchError as error:
        return replace(result, why=str(error))


def _list_rivals(subject: Subject, given: Sequence[Array]) -> dict[str, Callable[[], Rival]]:
    def xla() -> Rival:
        return XlaProgram(subject.text, given)

    def mlx() -> Rival:
        return MlxProgram(import_program(subject.text, subject.name), given)

    return {"xla": xla, "mlx": mlx}


class _ProgramTimer:
    """Timer of one program, with its arguments on the device."""

    def __init__(self, executable: Executable, given: Sequence[Array], plan: Plan) -> None:
        self._executable, self._plan = executable, plan
        self._device = executable.device
        types = executable.inputs
        self._given = [
            upload_array(executable.queue, to_storage(array, type_, "[hlo] argument"))
            for array, type_ in zip(given, types, strict=True)
        ]
        self._launches = executable.list_dispatches(self._given)

    def measure_alone(self) -> Measurement:
        """Measure the time without a rival."""
        return self._measure(None)

    def compare(self, kind: str, make: Callable[[], Rival], found: Sequence[Array]) -> RivalResult:
        """Measure the program in pairs with a rival, if the results agree."""
        try:
            rival = make()
            wrong = describe_difference(found, rival.compute_results(), self._executable.outputs)
        except Unsupported as error:
            return RivalResult({"xla": "XLA:CPU", "mlx": "MLX"}[kind], why=str(error))
        if wrong:
            return RivalResult(rival.name, rival.version, why=f"the results differ: {wrong}")
        return RivalResult(rival.name, rival.version, self._measure(rival))

    def measure_kernels(self) -> list[KernelTime]:
        """Measure each kernel alone; the list is empty for a program with control flow."""
        if self._launches is None or not self._launches:
            return []
        seconds = SHARE_OF_KERNELS * self._plan.seconds / len(self._launches)
        short = replace(self._plan, seconds=seconds, long_windows=0, half_width=0.05)
        times = [
            measure(self._device, Sides([each]), short).work_ns.value for each in self._launches
        ]
        named = zip(list_launches(self._executable.plan), times, strict=True)
        return [
            KernelTime(kernel.name, time, time / sum(times), count_moved_bytes(kernel))
            for kernel, time in named
        ]

    def _measure(self, rival: Rival | None) -> Measurement:
        sides = Sides(self._launches or self._run, rival, probe=create_probe(self._device))
        return measure(self._device, sides, self._plan)

    def _run(self, times: int) -> None:
        for _ in range(times):
            self._executable.run(self._given)


def describe_difference(
    found: Sequence[Array], expected: Sequence[Array], types: Sequence[TensorType]
) -> str:
    """Return a description of results that differ too much; empty if none do."""
    for number, (ours, theirs, type_) in enumerate(zip(found, expected, types, strict=True)):
        if not type_.element.is_float and not type_.element.is_complex:
            share = float(np.mean(ours.reshape(-1) != theirs.reshape(-1))) if ours.size else 0.0
            if share > 0:
                return f"result{number}: {share:.1%} of {type_} differ"
            continue
        wide = np.complex128 if type_.element.is_complex else np.float64
        a, b = (np.asarray(each, wide).reshape(-1) for each in (ours, theirs))
        if not np.array_equal(np.isfinite(a), np.isfinite(b)):
            return f"result{number}: other elements are not finite"
        finite = np.isfinite(b)
        error = np.abs(a - b)[finite].max(initial=0.0) / (np.abs(b)[finite].max(initial=0.0) or 1.0)
        if error > TOLERANCES[type_.element.name]:
            return f"result{number}: largest difference is {error:.2g} of the largest number"
    return ""
