"""The operations of a network: what a framework computes in one pass, with shapes and times."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

# Networks and their inputs are made, and random numbers drawn, with this seed.
SEED = 0
# Passes in which the operations of a network are timed.
LEAST_PASSES, MOST_PASSES = 3, 100

Values = np.ndarray[Any, Any]
# Operations that change the shape of an array and, as a rule, move no data.
VIEWS = frozenset((
    "view", "reshape", "transpose", "permute", "unsqueeze", "squeeze", "expand", "select", "slice",
    "split", "chunk", "unflatten", "flatten", "getitem", "t", "alias", "detach", "expand_dims",
    "broadcast_to", "swapaxes", "moveaxis", "unbind", "narrow", "as_strided", "swapdims", "movedim",
))  # fmt: skip


@dataclass(frozen=True)
class ArrayType:
    """The shape and element type of an array, such as `float32`."""

    shape: tuple[int, ...]
    dtype: str

    @property
    def elements(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """The bytes of the elements; a type that NumPy does not have counts as two bytes each."""
        try:
            itemsize = np.dtype(self.dtype).itemsize
        except TypeError:
            itemsize = 2
        return self.elements * itemsize

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.shape))})"


@dataclass(frozen=True)
class Operation:
    """One operation: its name, its arguments by name, and its results.

    An argument is an ArrayType in place of an array, a number, a text, None, or a tuple of these.
    Calls with equal operations are one operation of the profile.
    """

    name: str
    arguments: tuple[tuple[str, Any], ...]
    results: tuple[ArrayType, ...]

    @property
    def arrays(self) -> dict[str, ArrayType]:
        """The arguments that are arrays, in order."""
        return {name: each for name, each in self.arguments if isinstance(each, ArrayType)}

    @property
    def options(self) -> dict[str, Any]:
        """The other arguments, in order."""
        return {name: each for name, each in self.arguments if not isinstance(each, ArrayType)}

    @property
    def shapes(self) -> str:
        """The shapes of the arrays and of the results, for reports."""
        arguments = ", ".join(map(str, self.arrays.values())) or "-"
        return f"{arguments} -> {', '.join(map(str, self.results))}"

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays and results, each once."""
        return sum(each.nbytes for each in (*self.arrays.values(), *self.results))

    @property
    def product_flops(self) -> int:
        """The arithmetic of a product of matrices, of a convolution or of attention; else 0."""
        if not self.results or len(self.arrays) < 2:
            return 0
        result = self.results[0].elements
        arrays = list(self.arrays.values())
        if self.name in ("matmul", "mm", "bmm", "linear"):
            return 2 * result * arrays[0].shape[-1]
        if self.name in ("addmm", "baddbmm"):
            return 2 * result * arrays[1].shape[-1]
        if "conv" in self.name:
            taps = arrays[1].elements // max(1, arrays[1].shape[0])
            return 2 * result * taps
        if self.name == "scaled_dot_product_attention":
            return 4 * result * arrays[1].shape[-2]
        return 0


@dataclass
class OperationRecord:
    """An operation in one pass of a network.

    `calls` is their number, `seconds` the time of all of them: each has that of its fastest pass,
    because other load only adds time. `inputs` are the arrays of the first
    call by argument, and `output` is its first result.
    """

    operation: Operation
    calls: int = 0
    seconds: float = 0.0
    inputs: Mapping[str, Values] = field(default_factory=dict)
    output: Values | None = None


class KernelCall(Protocol):
    """A kernel in place of an operation. `operands` are the arguments that it reads."""

    operands: tuple[str, ...]

    def __call__(self, arrays: Mapping[str, Values], fixed: frozenset[str] = ...) -> Values:
        """Return the result; `fixed` are operands that are the same arrays in every call."""


# For an operation a function that makes a kernel with buffers for one place in the network.
Placements = Mapping[Operation, Callable[[], KernelCall]]


class Run(Protocol):
    """One pass of a network to its end."""

    def __call__(self) -> Any:
        """Return the outputs as the framework has them."""


class Network(Protocol):
    """A network of one framework with its inputs."""

    @property
    def framework(self) -> str:
        """The name and version of the framework, and its device."""

    def record(self, seconds: float) -> list[OperationRecord]:
        """Return the operations of a pass, timed one by one in several passes."""

    def run(self) -> Any:
        """Run one pass as the file has it."""

    def place(self, kernels: Placements) -> Run:
        """Return the network with kernels in place of operations."""

    def outputs(self, run: Run) -> list[Values]:
        """Return the outputs of a run with the random seed 0."""

    def exact_outputs(self) -> list[Values] | None:
        """Return the outputs of the file's network in float64; None if it does not run so."""
