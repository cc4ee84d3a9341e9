"""Predict the time of a kernel on an Apple GPU: `metalbench profile NAME --chip CHIP`.

The kernel's optimised code runs for a sample of threadgroups of each dispatch (`simt.py`), which
gives the work of the dispatch (`gpu_work.py`), and the timing model turns it into a time
(`gpu_timing.py`). Between dispatches the kernel runs on the `cpu` device, for the memory that the
next dispatch reads. A prediction is not a measurement: it has an interval whose coverage was
measured on public records (`gpu_calibration.py`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import Any

import numpy as np

from metalbench import _core
from metalbench.chips import chip_key
from metalbench.errors import DeclarationError, Unsupported, suggestion
from metalbench.kernel.header import Kernel
from metalbench.kernel.memory import GuardedBuffer
from metalbench.kernel.prepare import (
    Bound,
    Compiled,
    Geometry,
    compile_kernel,
    find_function_constants,
    source_options,
)
from metalbench.msl import engine
from metalbench.msl.analysis.analysed_code import LocatedCode
from metalbench.msl.ir.text import IrError
from metalbench.msl.toolchain.analysis_ir import LANE, compile_for_analysis
from metalbench.msl.toolchain.run_tool import CrashedError
from metalbench.profiling.counted_work import work_of_dispatch
from metalbench.profiling.gpu_calibration import CALIBRATION, COUNTED_CALIBRATION, Calibration
from metalbench.profiling.gpu_chips import GPU_CHIPS, GpuChip
from metalbench.profiling.gpu_timing import WorkTable, join_parts, predict_parts
from metalbench.profiling.gpu_work import DispatchWork, count_line_cycles, measure_work
from metalbench.profiling.lane_code import LaneCode, UnsupportedCodeError, translate
from metalbench.profiling.profiler import Profile
from metalbench.profiling.simt import LaunchSizes, StepLimitError, simulate
from metalbench.sandbox.executors import open_sandboxed_device
from metalbench.task import Task
from metalbench.task.workload import workload

Line = tuple[str, int]
# A comparison is decided if one side is faster with this probability.
DECIDED = 0.8
TIME_LIMIT = 120.0


@dataclass(frozen=True)
class DispatchPrediction:
    """The prediction of one dispatch: seconds, and the seconds of each bound alone.

    `line_causes` are shares of the cycles of arithmetic and accesses by file and line, and by
    cause; they add up to 1.
    """

    function: str
    seconds: float
    parts: Mapping[str, float]
    work: DispatchWork
    line_causes: Mapping[Line, Mapping[str, float]] = field(default_factory=dict)

    @property
    def lines(self) -> dict[Line, float]:
        """The shares of `line_causes` by file and line."""
        return {line: sum(causes.values()) for line, causes in self.line_causes.items()}

    @property
    def limit(self) -> str:
        """The largest bound."""
        return max(self.parts, key=lambda name: self.parts[name])


@dataclass(frozen=True)
class Prediction:
    """The predicted time of one command buffer with all dispatches of a kernel, in seconds.

    `low_s` and `high_s` are the ends of the interval with the coverage of `calibration`.
    """

    kernel: str
    size: str
    chip: GpuChip
    dispatches: tuple[DispatchPrediction, ...]
    seconds: float
    calibration: Calibration

    @property
    def low_s(self) -> float:
        """The lower end of the interval."""
        return self.seconds * math.exp(self.calibration.low)

    @property
    def high_s(self) -> float:
        """The upper end of the interval."""
        return self.seconds * math.exp(self.calibration.high)

    @property
    def parts(self) -> dict[str, float]:
        """Seconds by cause: the time of each dispatch, by the shares of its bounds."""
        found = {"command buffer": self.calibration.parameters.command_buffer_s}
        for each in self.dispatches:
            total = sum(each.parts.values())
            for name, seconds in each.parts.items():
                found[name] = found.get(name, 0.0) + each.seconds * seconds / total
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    @property
    def lines(self) -> dict[Line, float]:
        """Seconds by line, of all dispatches."""
        found: dict[Line, float] = {}
        for each in self.dispatches:
            for line, share in each.lines.items():
                found[line] = found.get(line, 0.0) + share * each.seconds
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    def find_causes(self, line: Line) -> dict[str, float]:
        """Return the seconds of a line by cause, the largest first."""
        found: dict[str, float] = {}
        for each in self.dispatches:
            for cause, share in each.line_causes.get(line, {}).items():
                found[cause] = found.get(cause, 0.0) + share * each.seconds
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    def record(self) -> dict[str, Any]:
        """Return the prediction as JSON values."""
        return {
            "kind": "prediction",
            "kernel": self.kernel,
            "size": self.size,
            "chip": self.chip.name,
            "seconds": self.seconds,
            "low_s": self.low_s,
            "high_s": self.high_s,
            "parts_s": self.parts,
            "dispatches": [
                {
                    "function": each.function,
                    "seconds": each.seconds,
                    "limit": each.limit,
                    "parts_s": dict(each.parts),
                    "work": each.work.record(),
                }
                for each in self.dispatches
            ],
        }


def find_gpu_chip(name: str) -> GpuChip:
    """Return a chip by a name such as `m4` or `m4_max`. Raise DeclarationError."""
    chip = GPU_CHIPS.get(chip_key(name))
    if chip is None:
        raise DeclarationError(f"unknown chip {name!r}; {suggestion(name, GPU_CHIPS)}")
    return chip


def probability_faster(first: Prediction, second: Prediction) -> float:
    """Return the probability that the first of two kernels of one task is faster.

    Errors of two variants of a task are alike, so their ratio has a smaller spread.
    """
    return probability_of_ratio(first.seconds / second.seconds, first.calibration)


def probability_of_ratio(ratio: float, calibration: Calibration) -> float:
    """Return the probability that a ratio of times is below 1, if `ratio` is predicted."""
    return NormalDist(0.0, calibration.pair_spread).cdf(-math.log(ratio))


def compare_predictions(first: Prediction, second: Prediction) -> str:
    """Return whether the first is faster in words, with the ratio of times and the probability."""
    probability = probability_faster(first, second)
    figures = (
        f"predicted ratio {second.seconds / first.seconds:.2f}, "
        f"probability of being faster {probability:.2f}"
    )
    if max(probability, 1 - probability) < DECIDED:
        return f"cannot tell ({figures})"
    return f"predicted {'faster' if probability > DECIDED else 'slower'} ({figures})"


def predict_kernel(
    kernel: Kernel,
    task: Task,
    size: str,
    chip: GpuChip,
    *,
    dtype_name: str | None = None,
    tunables: Mapping[str, int] | None = None,
    seed: int = 0,
    time_limit: float = TIME_LIMIT,
) -> Prediction:
    """Predict the time of a kernel of a task on a chip with all of its cores.

    Raise CompileError, DeclarationError, the device's errors, and Unsupported for code that the
    model cannot run, such as textures. `time_limit` is that of each simulation, and of each run
    between two dispatches, in seconds.
    """
    works = measure_kernel(
        kernel,
        task,
        size,
        dtype_name=dtype_name,
        tunables=tunables,
        seed=seed,
        time_limit=time_limit,
    )
    return predict_works(kernel.name, size, chip, works)


@dataclass(frozen=True)
class MeasuredDispatch:
    """The work of a dispatch, which does not depend on the chip, and its cycles by line."""

    function: str
    work: DispatchWork
    line_causes: Mapping[Line, Mapping[str, float]]


def predict_profile(profile: Profile, chip: GpuChip) -> Prediction:
    """Predict from the counts of a profile: for code that cannot be simulated, such as textures."""
    works = [
        MeasuredDispatch(
            counts.function,
            work_of_dispatch(
                counts, math.prod(occupancy.threadgroups), occupancy.threadgroup_bytes
            ),
            {},
        )
        for counts, occupancy in zip(profile.dispatches, profile.occupancy, strict=True)
    ]
    return predict_works(profile.kernel, profile.size, chip, works, COUNTED_CALIBRATION)


def predict_works(
    kernel: str,
    size: str,
    chip: GpuChip,
    works: list[MeasuredDispatch],
    calibration: Calibration = CALIBRATION,
) -> Prediction:
    """Return the prediction of dispatches whose work is known."""
    parameters = calibration.parameters
    parts = predict_parts(WorkTable([each.work for each in works]), chip, parameters)
    seconds = join_parts(parts, parameters)
    dispatches = tuple(
        DispatchPrediction(
            each.function,
            float(seconds[number]),
            {name: float(values[number]) for name, values in parts.items()},
            each.work,
            each.line_causes,
        )
        for number, each in enumerate(works)
    )
    total = parameters.command_buffer_s + float(seconds.sum())
    return Prediction(kernel, size, chip, dispatches, total, calibration)


def measure_kernel(
    kernel: Kernel,
    task: Task,
    size: str,
    *,
    dtype_name: str | None = None,
    tunables: Mapping[str, int] | None = None,
    seed: int = 0,
    time_limit: float = TIME_LIMIT,
) -> list[MeasuredDispatch]:
    """Return the work of each dispatch of a kernel. Raise as `predict_kernel`."""
    name = dtype_name or kernel.dtypes[0]
    device = open_sandboxed_device()
    compiled = compile_kernel(device, kernel, task, dtype_name=name, tunables=tunables)
    bound = compiled.bind(workload(task, size, dtype_name=name, seed=seed))
    codes = _Codes(compiled)
    known: dict[str, MeasuredDispatch] = {}
    found = []
    for number, (dispatch, geometry) in enumerate(
        zip(bound.dispatches, bound.geometry, strict=True)
    ):
        # Different arrays of the same sizes are the same work.
        buffers = _bind_buffers(compiled, bound, geometry)
        arrays = sorted((index, each.nbytes) for index, each in buffers.items())
        numbers = {name: each for name, each in geometry.arguments.items() if isinstance(each, int)}
        key = repr((replace(geometry, arguments=numbers), arrays))
        if key not in known:
            known[key] = _measure_dispatch(compiled, bound, geometry, codes, time_limit)
        found.append(known[key])
        if number + 1 < len(bound.dispatches):
            device.run([dispatch], time_limit=time_limit)
    return found


class _Codes:
    """The translated code of each function of a kernel, made on first use."""

    def __init__(self, compiled: Compiled) -> None:
        kernel, task = compiled.kernel, compiled.task
        options = source_options(kernel, compiled.dtype, compiled.tunables)
        self._source = engine.parse(kernel.source, **options).source
        self._constants = find_function_constants(kernel, task, options)
        self._is_fast = kernel.math == "fast"
        self._codes: dict[str, LaneCode] = {}

    def find(self, function: str) -> LaneCode:
        """Return the code of a function. Raise Unsupported."""
        if function not in self._codes:
            try:
                module = compile_for_analysis(
                    self._source,
                    function,
                    self._constants,
                    fast_math=self._is_fast,
                    inline_all=True,
                )
                self._codes[function] = translate(module, module.function(LANE))
            except (UnsupportedCodeError, IrError, CrashedError) as error:
                raise _make_error(function, error) from error
        return self._codes[function]


def _make_error(function: str, error: Exception) -> Unsupported:
    return Unsupported(
        f"{function}: the model of Apple's GPUs cannot run this code ({error}); "
        "`metalbench profile` without --chip counts it"
    )


def _measure_dispatch(
    compiled: Compiled, bound: Bound, geometry: Geometry, codes: _Codes, time_limit: float
) -> MeasuredDispatch:
    pipeline = compiled.pipelines[geometry.function]
    if any(each.kind in ("texture", "sampler") for each in pipeline.arguments):
        raise _make_error(geometry.function, UnsupportedCodeError("textures"))
    code = codes.find(geometry.function)
    buffers = _bind_buffers(compiled, bound, geometry)
    constant = frozenset(
        each.index
        for each in pipeline.arguments
        if each.kind == "buffer" and each.address_space == "constant"
    )
    sizes = find_sizes(geometry, pipeline)
    try:
        sample = simulate(code, sizes, buffers, constant=constant, limit_s=time_limit)
    except (UnsupportedCodeError, StepLimitError) as error:
        raise _make_error(geometry.function, error) from error
    located = LocatedCode(code.function, code.module.metadata)
    return MeasuredDispatch(
        geometry.function,
        measure_work(code, sample, sizes),
        count_line_cycles(code, sample, located),
    )


def find_sizes(geometry: Geometry, pipeline: _core.Pipeline) -> LaunchSizes:
    """Return the sizes of a launch as the simulation takes them."""
    grid = geometry.grid
    if not geometry.in_threads:
        x, y, z = (a * b for a, b in zip(geometry.grid, geometry.threads, strict=True))
        grid = (x, y, z)
    dynamic = {
        each.index: geometry.threadgroup_bytes[each.name]
        for each in pipeline.arguments
        if each.name in geometry.threadgroup_bytes
    }
    return LaunchSizes(grid, geometry.threads, dynamic)


def _bind_buffers(
    compiled: Compiled, bound: Bound, geometry: Geometry
) -> dict[int, np.ndarray[Any, Any]]:
    """Return the bytes of each buffer argument by its index; scalars are buffers of one element."""
    memory: dict[str, GuardedBuffer] = {**bound.inputs, **bound.outputs, **bound.scratches}
    values = {**bound.workload.values, **compiled.tunables}
    scalars = {**compiled.task.constants, **compiled.kernel.add_named_sizes(values)}
    found = {}
    for each in compiled.pipelines[geometry.function].arguments:
        if each.kind != "buffer" or each.address_space == "threadgroup":
            continue
        source = geometry.find_source(each.name)
        if source in memory:
            found[each.index] = memory[str(source)].bytes
        else:
            kind = np.dtype(each.element or f"u{each.element_bytes}")
            number = source if isinstance(source, int) else scalars[source]
            found[each.index] = np.array([number]).astype(kind).view(np.uint8)
    return found
