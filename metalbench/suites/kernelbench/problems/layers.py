"""Layers of neural networks for the bodies of problems, over operations on arrays.

A body is written once, as PyTorch's module is, and runs on MLX (the reference), on NumPy in float64
(the oracle) and on MLX's lazy arrays without values (a trace: shapes, parameters and costs). Images
are channels last, filters (filters, taps..., channels of a group), also of transposed convolutions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

from metalbench.suites.kernelbench.problems.parameters import (
    Initial,
    bias_within,
    constant,
    randn,
    within,
)
from metalbench.suites.kernelbench.problems.steps import WindowGeometry

Extents = int | Sequence[int]
# Operations that move nothing.
VIEWS = ("reshape", "swapped", "transpose", "part", "given", "triangle", "zeros", "full")


@dataclass
class Costs:
    """The cost of a body.

    `products` counts 2 for each multiplication and addition of products of matrices and of
    convolutions; `elements` what all other steps read or write, whichever is more; `largest` is the
    largest array in elements, `statistics` the channels whose running statistics PyTorch keeps, and
    a count for each norm.
    """

    products: int = 0
    elements: int = 0
    largest: int = 0
    statistics: int = 0


class Layers:
    """The layers; every function of the module `on` is one too: `nn.relu(x)`. Sizes are attributes.

    Parameters are found in `arrays` by name, or made by `make`, which a trace does.
    """

    def __init__(
        self,
        on: ModuleType,
        sizes: Mapping[str, int],
        arrays: Mapping[str, Any] | None = None,
        make: Callable[[str, tuple[int, ...], Initial], Any] | None = None,
    ) -> None:
        self._on = on
        self._sizes = sizes
        self._arrays = arrays or {}
        self._make = make
        self.costs = Costs()

    def __getattr__(self, name: str) -> Any:
        sizes = self.__dict__["_sizes"]
        if name in sizes:
            return sizes[name]
        operation = getattr(self.__dict__["_on"], name, None)
        if operation is None:
            raise AttributeError(f"no layer, no operation and no size {name!r}")
        return operation if name in VIEWS else partial(self._count, operation)

    def parameter(self, name: str, shape: Sequence[int], initial: Initial) -> Any:
        """Return the learned parameter `name`, as the task calls it."""
        argument = name.replace(".", "_")
        if self._make is not None:
            return self._make(argument, tuple(shape), initial)
        return self._arrays[argument]

    def constant(self, name: str, value: float, *shape: int) -> Any:
        """Return a parameter that begins as one number, of one element without `shape`."""
        return self.parameter(name, shape or (1,), constant(value))

    def normal(self, name: str, *shape: int, deviation: float = 1.0) -> Any:
        """Return a parameter that begins normal, of one element without `shape`."""
        return self.parameter(name, shape or (1,), randn(deviation))

    def linear(self, x: Any, name: str, features: int, *, bias: bool = True) -> Any:
        """X W^T + b over the last axis; W is (features, of x)."""
        inner = x.shape[-1]
        bound = 1 / math.sqrt(inner)
        w = self.parameter(f"{name}.weight", (features, inner), within(bound))
        y = self.matmul(x, self._on.swapped(w))
        if bias:
            y = y + self.parameter(f"{name}.bias", (features,), bias_within(bound))
        return y

    def conv(
        self,
        x: Any,
        name: str,
        filters: int,
        kernel: Extents,
        *,
        stride: Extents = 1,
        padding: Extents = 0,
        dilation: Extents = 1,
        groups: int = 1,
        bias: bool = True,
        initial: Initial | None = None,
    ) -> Any:
        """Return a convolution in as many dimensions as `x` has."""
        taps = self._each(kernel, x)
        inner = x.shape[-1] // groups
        bound = 1 / math.sqrt(inner * math.prod(taps))
        w = self.parameter(f"{name}.weight", (filters, *taps, inner), initial or within(bound))
        along = self._each
        steps = WindowGeometry(along(stride, x), along(padding, x), along(dilation, x), groups)
        y = self._on.convolution(x, w, steps)
        self.costs.products += 2 * math.prod(y.shape) * inner * math.prod(taps)
        self._note(y)
        if bias:
            y = y + self.parameter(f"{name}.bias", (filters,), bias_within(bound))
        return y

    def conv_transpose(
        self,
        x: Any,
        name: str,
        filters: int,
        kernel: Extents,
        *,
        stride: Extents = 1,
        padding: Extents = 0,
        output_padding: Extents = 0,
        dilation: Extents = 1,
        groups: int = 1,
        bias: bool = True,
    ) -> Any:
        """A transposed convolution: (n - 1) stride - 2 padding + dilation (k - 1) + 1 + more."""
        taps = self._each(kernel, x)
        inner, of_group = x.shape[-1] // groups, filters // groups
        bound = 1 / math.sqrt(of_group * math.prod(taps))
        w = self.parameter(f"{name}.weight", (filters, *taps, inner), within(bound))
        along = self._each
        more = along(output_padding, x)
        steps = WindowGeometry(
            along(stride, x), along(padding, x), along(dilation, x), groups, more
        )
        y = self._on.transposed_convolution(x, w, steps)
        self.costs.products += 2 * math.prod(x.shape) * of_group * math.prod(taps)
        self._note(y)
        if bias:
            y = y + self.parameter(f"{name}.bias", (filters,), bias_within(bound))
        return y

    def matmul(self, a: Any, b: Any) -> Any:
        """Return a product of matrices, with leading axes as they broadcast."""
        y = self._on.product(a, b)
        self.costs.products += 2 * math.prod(y.shape) * a.shape[-1]
        self._note(y)
        return y

    def affine(self, x: Any, name: str, *shape: int) -> Any:
        """Return x times a weight (initially one) plus a bias (initially zero)."""
        weight = self.parameter(f"{name}.weight", shape, constant(1))
        return x * weight + self.parameter(f"{name}.bias", shape, constant(0))

    def batch_norm(self, x: Any, name: str, eps: float = 1e-5) -> Any:
        """Normalised by the statistics of this batch, channel by channel."""
        self.costs.statistics += 2 * x.shape[-1] + 2
        y = self.norm(x, tuple(range(x.ndim - 1)), eps)
        return self.affine(y, name, x.shape[-1])

    def instance_norm(self, x: Any, eps: float = 1e-5) -> Any:
        """Over the pixels of every image and channel, without parameters."""
        return self.norm(x, tuple(range(1, x.ndim - 1)), eps)

    def group_norm(self, x: Any, name: str, groups: int, eps: float = 1e-5) -> Any:
        """Over the pixels and channels of every group of an image."""
        batch, *pixels, channels = x.shape
        split = self._on.reshape(x, (batch, math.prod(pixels), groups, channels // groups))
        y = self._on.reshape(self.norm(split, (1, 3), eps), x.shape)
        return self.affine(y, name, channels)

    def layer_norm(self, x: Any, name: str, axis: int = -1, eps: float = 1e-5) -> Any:
        """Over one axis, with a weight and a bias for each of its places."""
        y = self.norm(x, (axis,), eps)
        shape = [1] * (-axis)
        shape[0] = x.shape[axis]
        weight = self.parameter(f"{name}.weight", shape[:1], constant(1))
        bias = self.parameter(f"{name}.bias", shape[:1], constant(0))
        return y * self._on.reshape(weight, shape) + self._on.reshape(bias, shape)

    def _count(self, operation: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Carry out a step: it costs as many elements as it reads of one array, or writes."""
        y = operation(*arguments, **options)
        arrays = [each for each in (y, *arguments) if hasattr(each, "shape")]
        self.costs.elements += max(math.prod(each.shape) for each in arrays)
        self._note(y)
        return y

    def norm(self, x: Any, axes: tuple[int, ...], eps: float = 1e-5) -> Any:
        """Minus the mean, over the root of the population variance and `eps`."""
        self.costs.elements += math.prod(x.shape)
        self._note(x)
        return self._on.normalized(x, axes, eps)

    def _note(self, y: Any) -> None:
        self.costs.largest = max(self.costs.largest, math.prod(y.shape))

    @staticmethod
    def _each(extents: Extents, x: Any) -> tuple[int, ...]:
        """Return one number for each axis of pixels of `x`."""
        if isinstance(extents, int):
            return (extents,) * int(x.ndim - 2)
        return tuple(int(each) for each in extents)
