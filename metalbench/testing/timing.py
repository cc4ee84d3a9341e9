"""Time a kernel in a script: `time`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from metalbench import _core
from metalbench.devices import find_kind
from metalbench.errors import DispatchError, suggestion
from metalbench.measure.device_limits import create_probe
from metalbench.measure.measurement import Measurement, Plan
from metalbench.measure.sampling import Sides, measure
from metalbench.mlx.call import as_numpy, is_mlx
from metalbench.report import numbers
from metalbench.report.warnings import list_warnings
from metalbench.stats import Interval, Verdict
from metalbench.testing.launch import (
    Build,
    Grid,
    Size,
    bind,
    buffers_of,
    dtype_of,
    read_inputs,
    read_source,
)

SIMULATED = "host time of a simulation, not of a GPU"


@dataclass(frozen=True)
class Timing:
    """Times of one kernel, in nanoseconds of one launch; `print` shows them.

    `measurement` has everything: raw samples, the number of pairs, how steady they were.
    """

    kernel: str
    device: str
    measurement: Measurement

    @property
    def ns(self) -> Interval:
        """The median with its 98 % interval."""
        return self.measurement.work_ns

    @property
    def ratio(self) -> Interval | None:
        """Reference / kernel, above 1 where the kernel is faster; None without a reference."""
        return self.measurement.ratio

    @property
    def verdict(self) -> Verdict | None:
        """FASTER, SLOWER, SAME, INCONCLUSIVE or THROTTLED; None without a reference."""
        return self.measurement.verdict

    def __str__(self) -> str:
        text = f"{self.kernel}: {numbers.time(self.ns)}"
        if self.ratio is not None and self.verdict is not None:
            text += f"; reference / kernel {numbers.ratio(self.ratio)} {self.verdict.value}"
        if find_kind(self.device).is_simulated:
            text += f" ({SIMULATED})"
        doubts = [*self.measurement.doubts, *map(str, list_warnings(self.measurement))]
        return "\n".join([text, *(f"Warning: {each}" for each in doubts)])


def time(
    kernel: str | Path,
    inputs: Mapping[str, Any],
    outputs: Mapping[str, Any],
    *,
    grid: Size | None = None,
    threadgroups: Size | None = None,
    threadgroup: Size,
    function: str | None = None,
    macros: Mapping[str, object] | None = None,
    constants: Mapping[int | str, Any] | None = None,
    include_dirs: Sequence[str | Path] = (),
    threadgroup_bytes: Mapping[str, int] | None = None,
    reference: Callable[[], object] | None = None,
    seconds: float = 2.0,
    seed: int = 0,
    fast_math: bool = True,
    device: str = "auto",
) -> Timing:
    """Time an MSL kernel, alone or in pairs with a reference; `check` it first.

    Parameters
    ----------
    kernel, inputs, grid, threadgroups, threadgroup, function, macros, constants
        As in `metalbench.check_kernel`; so are `include_dirs`, `threadgroup_bytes`, `fast_math`
        and `device`.
    outputs
        {name: shape}, in the types that the kernel declares; or {name: array like it}.
    reference
        A function without arguments that does the same work to its end, such as
        `lambda: mx.eval(mx.softmax(x))`. Both are then timed in pairs of random order.
    seconds, seed
        Longest time to sample; of the order within pairs.

    Raises
    ------
    DispatchError
        If arguments do not fit the kernel.
    DeclarationError
        If arguments do not fit the kernel's declaration.
    CompileError
        If the kernel does not compile.
    KernelFault
        If the kernel fails while it runs.
    TimeLimitExceeded
        If the kernel does not end in time.
    """
    opened = _core.open(device)
    build = Build(
        read_source(kernel), function, macros or {}, constants or {}, include_dirs, fast_math
    )
    pipeline = build.pipeline(opened, checked=False)
    launch = Grid(grid, threadgroups, threadgroup, threadgroup_bytes or {})
    memory = _memory_of(pipeline, outputs)
    bound = bind(opened, pipeline, read_inputs(pipeline, inputs), memory, launch)
    opened.run([bound.dispatch])
    sides = Sides([bound.dispatch], _repeat(reference), probe=create_probe(opened))
    measured = measure(opened, sides, Plan(seconds=seconds, seed=seed))
    return Timing(pipeline.name, opened.kind, measured)


def _repeat(reference: Callable[[], object] | None) -> Callable[[int], None] | None:
    if reference is None:
        return None

    def run(passes: int) -> None:
        for _ in range(passes):
            reference()

    return run


def _memory_of(
    pipeline: _core.Pipeline, outputs: Mapping[str, Any]
) -> dict[str, tuple[tuple[int, ...], np.dtype[Any]]]:
    buffers = buffers_of(pipeline)
    found = {}
    for name, given in outputs.items():
        where = f"[{pipeline.name}] outputs: {name}"
        if name not in buffers:
            raise DispatchError(f"{where}: no such argument; {suggestion(name, buffers)}")
        declared = dtype_of(buffers[name])
        array = as_numpy(given, where) if is_mlx(given) else given
        if isinstance(array, np.ndarray):
            found[name] = array.shape, declared or array.dtype
        elif declared is not None:
            shape = tuple(array) if isinstance(array, (tuple, list)) else (array,)
            found[name] = shape, declared
        else:
            raise DispatchError(
                f"{where}: expected an array like it, for {buffers[name].type} is the kernel's "
                "own type; got a shape"
            )
    return found
