"""Whether a result depends on what the candidate's kernels compute.

In a probe the candidate is called once more, and its kernels go wrong on purpose. If the result is
right nevertheless, or right up to a scale and an offset, its kernels did not do the work.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

import numpy as np

from metalbench.custom_kernel.arrays import Input, Output

Array = np.ndarray[Any, Any]

# An affine fit of fewer elements proves nothing.
LEAST_ELEMENTS = 16
# The part of the spread of the expected values that the fit may leave.
TOLERANCES = {"float32": 1e-3}
TOLERANCE = 3e-2


class ProbeKind(IntEnum):
    """How kernels go wrong.

    All elements of their outputs are one wrong value, or each is another, or they run on other
    values than they are given.
    """

    CONSTANT = 0
    RANDOM = 1
    OTHER_INPUTS = 2

    @property
    def words(self) -> str:
        """What was done to the kernels, in words."""
        return {
            ProbeKind.CONSTANT: "their outputs were all one wrong value",
            ProbeKind.RANDOM: "their outputs were random values",
            ProbeKind.OTHER_INPUTS: "they computed with other inputs",
        }[self]


@dataclass
class Probe:
    """One call in which kernels go wrong; `written` counts bytes of outputs that kernels wrote."""

    way: ProbeKind
    random: np.random.Generator
    written: int = 0

    def run(
        self,
        inputs: Sequence[Input],
        outputs: Sequence[Output],
        initial: bool,
        launch: Callable[[tuple[Input, ...]], None],
    ) -> None:
        """Do what a probe does instead of `launch`, which runs the kernel with some inputs.

        `initial` says that the outputs have an initial value, which counts as written.
        """
        if self.way is not ProbeKind.OTHER_INPUTS:
            for each in outputs:
                _fill(each.array, self.random, constant=self.way is ProbeKind.CONSTANT)
            return
        before = []
        for each in outputs:
            memory = each.buffer.numpy("uint8")
            if not initial:
                memory[:] = self.random.integers(0, 256, memory.size, np.uint8)
            before.append(memory.copy())
        launch(tuple(self._other(each) for each in inputs))
        for each, old in zip(outputs, before, strict=True):
            new = each.buffer.numpy("uint8")
            size = each.array.itemsize
            changed = (new != old).reshape(-1, size).any(axis=1)
            self.written += new.size if initial else size * int(changed.sum())

    def _other(self, given: Input) -> Input:
        """Return the input with other values if they are floating-point numbers."""
        if "float" not in given.memory.dtype.name:
            return given  # they may be places of other elements
        factors = self.random.uniform(1.5, 3, given.memory.size)
        factors *= self.random.choice((-1, 1), given.memory.size)
        other = (given.memory.astype(np.float32) * factors + 0.25).astype(given.memory.dtype)
        return replace(given, memory=other)


def is_affine_match(expected: Mapping[str, Array], got: Mapping[str, Array], dtype: str) -> bool:
    """Whether all that was got is what was expected, up to a scale and an offset."""
    tolerance = TOLERANCES.get(dtype, TOLERANCE)
    return all(_is_affine_match(each, got[name], tolerance) for name, each in expected.items())


def _is_affine_match(expected: Array, got: Array, tolerance: float) -> bool:
    e, g = (each.astype(np.float64).ravel() for each in (expected, got))
    finite = np.isfinite(e)
    if not np.array_equal(finite, np.isfinite(g)):
        return False
    e, g = e[finite], g[finite]
    largest = float(np.abs(e).max(initial=0))
    if e.size < LEAST_ELEMENTS or e.std() <= 1e-6 * largest:
        return bool((np.abs(g - e) <= tolerance * largest).all())
    if g.std() <= 1e-6 * np.abs(g).max():
        return False
    e, g = (e - e.mean()) / e.std(), (g - g.mean()) / g.std()
    rest = g - (e @ g / e.size) * e
    return bool(np.sqrt((rest**2).mean()) <= tolerance)


def _fill(array: Array, random: np.random.Generator, *, constant: bool) -> None:
    shape = () if constant else array.shape
    if array.dtype.kind == "b":
        array[...] = True if constant else random.integers(0, 2, shape)
    elif array.dtype.kind in "iu":
        array[...] = random.integers(2, 100, shape)
    else:
        values = random.uniform(0.5, 2, shape) * random.choice((-1, 1), shape)
        array[...] = np.asarray(values).astype(array.dtype)
