"""Run a network with kernels in place of operations, and compare it with the file's network."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter, perf_counter_ns
from typing import TYPE_CHECKING

import numpy as np

from agent_steel.loop.verifier import Version
from agent_steel.networks.operation import Run, Values
from agent_steel.networks.tasks import FoundTask
from metalbench import _core
from metalbench.devices import find_kind
from metalbench.kernel.prepare import Bound, Compiled, compile_kernel
from metalbench.sandbox.executors import open_sandboxed_device
from metalbench.stats import Judgement, assess
from metalbench.task.dtypes import DTYPES, dtype
from metalbench.task.workload import Workload
from metalbench.testing.assertion import ROUNDOFFS, Expected, Tolerance
from metalbench.verify.tolerance import compare

if TYPE_CHECKING:
    from agent_steel.networks.operation import Operation, Placements

LEAST_PAIRS, MOST_PAIRS = 8, 200
TIME_LIMIT_S = 60.0


@dataclass
class PlacedKernel:
    """A kernel with buffers, in one place of a network. It runs in a confined process.

    Operands that are fixed, such as parameters, are copied once, others in each call.
    """

    compiled: Compiled
    found: FoundTask
    runs: int = 0
    _bound: Bound | None = None

    @property
    def operands(self) -> tuple[str, ...]:
        """The arguments of the operation that the kernel reads."""
        return tuple(self.found.match.operands.values())

    def __call__(self, arrays: Mapping[str, Values], fixed: frozenset[str] = frozenset()) -> Values:
        """Return the result of the kernel. Raise the errors of kernels that fail as they run."""
        found, compiled = self.found, self.compiled
        inputs = found.match.arrange(compiled.task, arrays, found.dtype)
        if self._bound is None:
            work = Workload(compiled.task, found.size, dtype(found.dtype), 0, inputs)
            self._bound = compiled.bind(work)
        else:
            for name, argument in found.match.operands.items():
                if argument not in fixed:
                    self._bound.inputs[name].fill(inputs[name])
        compiled.device.run(self._bound.dispatches, time_limit=TIME_LIMIT_S)
        self.runs += 1
        (output,) = self._bound.outputs
        return found.match.restore(self._bound.read(output))


@dataclass
class KernelPlacer:
    """Makes kernels for operations of a network; versions of one kernel are compiled once."""

    device: str

    def __post_init__(self) -> None:
        self.placed: list[PlacedKernel] = []
        simulated = find_kind(self.device).is_simulated
        self._device = open_sandboxed_device() if simulated else _core.open(self.device)

    def place(self, versions: Mapping[Operation, tuple[FoundTask, Version]]) -> Placements:
        """Return for each operation how its kernel is made. Raise the errors of compiling it."""
        compiled = {
            operation: (
                found,
                compile_kernel(
                    self._device,
                    version.kernel,
                    found.entry.task,
                    dtype_name=found.dtype,
                    tunables=version.tunables,
                ),
            )
            for operation, (found, version) in versions.items()
        }

        def make(operation: Operation) -> PlacedKernel:
            found, built = compiled[operation]
            self.placed.append(PlacedKernel(built, found))
            return self.placed[-1]

        return {operation: lambda each=operation: make(each) for operation in compiled}  # type: ignore[misc]

    @property
    def runs(self) -> int:
        """How often kernels have run."""
        return sum(each.runs for each in self.placed)


@dataclass(frozen=True)
class OutputComparison:
    """The comparison of the outputs of two networks, and how far they are apart.

    `largest` is the largest difference, `allowed` the tolerance at that place. `rule` says where
    the tolerance is from.
    """

    passed: bool
    largest: float
    allowed: float
    rule: str
    fault: str = ""


BY_FLOAT64 = "from the network in float64, and the error of the file's own results"
BY_ROUNDOFF = "from the roundoff of each operation: the network does not run in float64"


def compare_outputs(
    got: Sequence[Values],
    original: Sequence[Values],
    exact: Sequence[Values] | None,
    operations: int,
) -> OutputComparison:
    """Compare outputs of a network with kernels with those of the file's network.

    With `exact`, outputs in float64, the project's error rule holds, with the original as the
    reference. Without them each of `operations` may add the rule's least error.
    """
    rule = BY_FLOAT64 if exact is not None else BY_ROUNDOFF
    if len(got) != len(original):
        fault = f"{len(got)} outputs instead of {len(original)}"
        return OutputComparison(False, 0.0, 0.0, rule, fault)
    largest = allowed = 0.0
    for place, (mine, own) in enumerate(zip(got, original, strict=True)):
        name = f"output {place}"
        if mine.shape != own.shape:
            fault = f"{name} has the shape {mine.shape} instead of {own.shape}"
            return OutputComparison(False, 0.0, 0.0, rule, fault)
        if own.dtype.kind in "biu":
            if not np.array_equal(mine, own):
                return OutputComparison(False, 0.0, 0.0, rule, f"{name} has other integers")
            continue
        if not own.size:
            continue
        values = own.astype(np.float64) if exact is None else exact[place].astype(np.float64)
        kind = own.dtype
        if exact is None:
            least = ROUNDOFFS * DTYPES[kind.name].roundoff * operations
            scale = float(np.abs(values[np.isfinite(values)]).max(initial=0.0))
            expected, tolerance = Expected(values), Tolerance(atol=least * scale)
        else:
            expected, tolerance = Expected(values, own.astype(np.float64)), Tolerance()
        allowance = expected.allowance(kind, tolerance)
        compared = compare(name, mine.astype(np.float64), values, tolerance=allowance, scale=values)
        largest = max(largest, compared.error)
        allowed = max(allowed, compared.bound)
        if not compared.passed:
            fault = f"{name} differs beyond the tolerance"
            return OutputComparison(False, largest, allowed, rule, fault)
    return OutputComparison(True, largest, allowed, rule)


def time_pairs(before: Run, after: Run, seconds: float, seed: int) -> Judgement:
    """Time two networks in pairs of random order, and judge the ratio before / after.

    Takes LEAST_PAIRS pairs or more, until `seconds` are over.
    """
    chance = random.Random(seed)
    for run in (before, after):
        run()  # warm up
    times: tuple[list[float], list[float]] = ([], [])
    first: list[bool] = []
    end = perf_counter() + seconds
    while len(first) < MOST_PAIRS and (len(first) < LEAST_PAIRS or perf_counter() < end):
        after_first = chance.random() < 0.5
        for side in (1, 0) if after_first else (0, 1):
            begun = perf_counter_ns()
            (before, after)[side]()
            times[side].append(float(max(1, perf_counter_ns() - begun)))
        first.append(after_first)
    return assess(
        np.array(times[0]), np.array(times[1]), candidate_first=np.array(first, dtype=bool)
    )


def time_pass(run: Run, seconds: float) -> float:
    """Return the median time of a pass in s, of three passes or more."""
    run()
    times: list[float] = []
    end = perf_counter() + seconds
    while len(times) < 3 or (perf_counter() < end and len(times) < MOST_PAIRS):
        begun = perf_counter()
        run()
        times.append(perf_counter() - begun)
    return float(np.median(times))
