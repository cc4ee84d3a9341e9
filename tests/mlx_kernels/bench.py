"""Running one of MLX's kernels with NumPy arrays, and comparing what comes out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import numpy as np
from mlx_kernels.family import Family, Instance

from metalbench import _core

DTYPES = {
    "float": np.dtype(np.float32),
    "half": np.dtype(np.float16),
    "bfloat16_t": np.dtype(ml_dtypes.bfloat16),
    "complex64_t": np.dtype(np.complex64),
    "bool": np.dtype(np.bool_),
    **{f"{name}_t": np.dtype(name) for name in ("uint8", "uint16", "uint32", "uint64")},
    **{f"{name}_t": np.dtype(name) for name in ("int8", "int16", "int32", "int64")},
}
EPSILON = {"float": 2.0**-23, "half": 2.0**-10, "bfloat16_t": 2.0**-7}

Argument = np.ndarray | np.generic


@dataclass(frozen=True)
class Outcome:
    """The error of a kernel and its bound; both relative.

    `kind` is the type whose rounding allows an error; without one there may be none.
    """

    kernel: str
    error: float
    bound: float
    kind: str = ""

    @property
    def passed(self) -> bool:
        """Return whether the error is within the bound; NaN is not."""
        return self.error <= self.bound


class Bench:
    """A device, MLX's headers, and whether kernels are built to watch their accesses.

    With `tools`, such as "mem", runs go on after what is wrong, and `found` has all of it.
    """

    def __init__(
        self,
        device: _core.Device,
        headers: Path,
        *,
        checked: bool = False,
        tools: Sequence[str] = (),
    ) -> None:
        self.checked = checked or bool(tools)
        self.tools = tools
        self.found: list[_core.Finding] = []
        self.device = device
        self.headers = headers

    def run(
        self,
        family: Family,
        instance: Instance,
        arguments: Sequence[Argument],
        *,
        threads: int | tuple[int, ...],
        groups: int | tuple[int, ...] | None = None,
        grid: int | tuple[int, ...] | None = None,
        constants: Mapping[int, bool | int] | None = None,
    ) -> None:
        """Run a kernel with its arguments in the order of its parameters.

        `groups` of `threads`, or a `grid` of threads. Parameters that are absent by function
        constant are left out.
        """
        pipeline = family.pipeline(
            self.device,
            self.headers,
            instance,
            constants,
            checked=self.checked,
            tools=self.tools,
        )
        names = [argument.name for argument in pipeline.arguments]
        bound = dict(zip(names, arguments, strict=True))
        size = {"threadgroups": groups} if grid is None else {"threads_in_grid": grid}
        dispatch = _core.Dispatch(pipeline, bound, threads=threads, **size)
        if self.tools:
            self.found += self.device.check([dispatch], time_limit=60.0)
        else:
            self.device.run([dispatch], time_limit=60.0)


Check = Callable[[Bench], Iterator[Outcome]]
CHECKS: list[tuple[Family, Check]] = []


def check(family: Family) -> Callable[[Check], Check]:
    """Registers a check of a family's kernels."""

    def register(function: Check) -> Check:
        CHECKS.append((family, function))
        return function

    return register


def compare(
    instance: Instance, got: np.ndarray, want: np.ndarray, kind: str = "", ulp: float = 4
) -> Outcome:
    """The largest error of an element, relative to it or to the root mean square of all.

    The bound is `ulp` units of the type `kind`; without one, all must be equal.
    """
    wide = np.complex128 if np.iscomplexobj(want) else np.float64
    if not kind:
        same = np.array_equal(got, want)
        return Outcome(instance.name, 0.0 if same else float("inf"), 0.0)
    got, want = np.asarray(got).astype(wide), np.asarray(want).astype(wide)
    scale = np.maximum(np.abs(want), np.sqrt(np.mean(np.abs(want) ** 2)) + 1e-300)
    error = np.abs(got - want) / scale
    return Outcome(instance.name, float(np.max(error)), ulp * EPSILON[kind], kind)


def random(shape: int | tuple[int, ...], kind: str = "float", seed: int = 0) -> np.ndarray:
    """Standard normal values of a type; integers up to 100."""
    generator = np.random.default_rng(seed)
    if DTYPES[kind].kind in "iu":
        return generator.integers(1, 100, shape).astype(DTYPES[kind])
    if DTYPES[kind].kind == "b":
        return generator.integers(0, 2, shape).astype(np.bool_)
    if DTYPES[kind].kind == "c":
        return (random(shape, seed=seed) + 1j * random(shape, seed=seed + 1)).astype(np.complex64)
    return generator.standard_normal(shape).astype(DTYPES[kind])


def zeros(shape: int | tuple[int, ...], kind: str = "float") -> np.ndarray:
    """An output, filled with what no kernel leaves by accident."""
    return np.full(shape, 77, DTYPES[kind])


def ints(*values: int) -> np.ndarray:
    """A shape as kernels take it."""
    return np.array(values, np.int32)


def longs(*values: int) -> np.ndarray:
    """Strides as kernels take them."""
    return np.array(values, np.int64)
