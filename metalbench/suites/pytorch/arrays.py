"""Shapes and parts of arrays, by PyTorch's names."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np


class Arrays:
    """Operations that make arrays or move elements, and compute nothing."""

    _on: ModuleType

    def view(self, x: Any, shape: Sequence[int]) -> Any:
        """Return the same elements in another shape."""
        return self._on.reshape(x, tuple(shape))

    reshape = _unsafe_view = view

    def flatten(self, x: Any, first: int = 0, last: int = -1) -> Any:
        """Return the axes from `first` to `last` as one."""
        first, last = first % x.ndim, last % x.ndim
        middle = math.prod(x.shape[first : last + 1])
        return self._on.reshape(x, (*x.shape[:first], middle, *x.shape[last + 1 :]))

    def unflatten(self, x: Any, dim: int, sizes: Sequence[int]) -> Any:
        """Return one axis as several."""
        dim %= x.ndim
        return self._on.reshape(x, (*x.shape[:dim], *sizes, *x.shape[dim + 1 :]))

    def permute(self, x: Any, dims: Sequence[int]) -> Any:
        """Return the axes in another order."""
        return self._on.transpose(x, tuple(each % x.ndim for each in dims))

    def transpose(self, x: Any, a: int, b: int) -> Any:
        """Two axes in the other order."""
        order = list(range(x.ndim))
        order[a], order[b] = order[b], order[a]
        return self._on.transpose(x, tuple(order))

    def t(self, x: Any) -> Any:
        """Return a matrix transposed."""
        return x if x.ndim < 2 else self._on.swapped(x)

    def numpy_T(self, x: Any) -> Any:  # noqa: N802 - PyTorch's name
        """Return the axes from the other end."""
        return self._on.transpose(x, tuple(reversed(range(x.ndim))))

    def squeeze(self, x: Any, dim: Any = None) -> Any:
        """Without an axis of one element, or all of them."""
        asked = range(x.ndim) if dim is None else dim if isinstance(dim, tuple) else (dim,)
        gone = {each % x.ndim for each in asked if x.shape[each] == 1}
        return self._on.reshape(x, tuple(n for i, n in enumerate(x.shape) if i not in gone) or (1,))

    def unsqueeze(self, x: Any, dim: int) -> Any:
        """With an axis of one element."""
        shape = list(x.shape)
        shape.insert(dim % (x.ndim + 1), 1)
        return self._on.reshape(x, tuple(shape))

    def expand(self, x: Any, shape: Sequence[int]) -> Any:
        """As often as `shape` says; -1 leaves an axis as it is."""
        own = (1,) * (len(shape) - x.ndim) + tuple(x.shape)
        wanted = tuple(n if s == -1 else s for n, s in zip(own, shape, strict=True))
        return self._on.full(x, wanted)

    def expand_as(self, x: Any, other: Any) -> Any:
        """As often as the shape of another array says."""
        return self._on.full(x, tuple(other.shape))

    def broadcast_tensors(self, arrays: Sequence[Any]) -> list[Any]:
        """Return all in the shape that they have together."""
        shape = np.broadcast_shapes(*(tuple(each.shape) for each in arrays))
        return [self._on.full(each, shape) for each in arrays]

    def cat(self, arrays: Sequence[Any], dim: int = 0) -> Any:
        """Return one behind the other."""
        return self._on.concat(list(arrays), dim)

    def stack(self, arrays: Sequence[Any], dim: int = 0) -> Any:
        """Along a new axis."""
        return self._on.stack(list(arrays), dim)

    def select(self, x: Any, dim: int, index: int) -> Any:
        """Return one place along an axis."""
        return x[self._index(x, dim, index)]

    def slice(self, x: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
        """Return a part along an axis."""
        return x[self._index(x, dim, slice(start, end, step))]

    def narrow(self, x: Any, dim: int, start: int, length: int) -> Any:
        """Return `length` elements along an axis."""
        return self.slice(x, dim, start, start + length)

    def split(self, x: Any, size: int | Sequence[int], dim: int = 0) -> list[Any]:
        """Parts along an axis, of one size or of several."""
        whole = x.shape[dim]
        sizes = [size] * math.ceil(whole / size) if isinstance(size, int) else list(size)
        ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
        return [
            self.slice(x, dim, end - n, min(end, whole)) for end, n in zip(ends, sizes, strict=True)
        ]

    split_with_sizes = split

    def chunk(self, x: Any, count: int, dim: int = 0) -> list[Any]:
        """Return `count` parts along an axis."""
        return self.split(x, math.ceil(x.shape[dim] / count), dim)

    def unbind(self, x: Any, dim: int = 0) -> list[Any]:
        """Return all places along an axis."""
        return [self.select(x, dim, i) for i in range(x.shape[dim])]

    def zeros_like(self, x: Any, **_: Any) -> Any:
        """Zeros; where they lie is nothing that is compared."""
        return x * 0

    def number(self, value: float) -> Any:
        """Return an array of that number alone."""
        kind = np.int32 if isinstance(value, int) else np.float32
        return self._on.given(np.asarray(value, kind))

    def getitem(self, several: Any, index: int) -> Any:
        """Return one of several results."""
        return several[index]

    def flip(self, x: Any, dims: Sequence[int]) -> Any:
        """From the other end of axes."""
        for each in dims:
            x = self._on.flip(x, each)
        return x

    def roll(self, x: Any, shifts: Sequence[int], dims: Sequence[int]) -> Any:
        """Moved along axes, what falls out comes in at the other end."""
        return self._on.roll(x, tuple(shifts), tuple(dims))

    def pad(self, x: Any, widths: Sequence[int], mode: str = "constant", value: float = 0) -> Any:
        """Zeros around; widths are of the last axis first."""
        if mode != "constant" or value:
            raise ValueError(f"pad: expected zeros, got mode {mode!r} and value {value}")
        pairs = [(widths[i], widths[i + 1]) for i in range(0, len(widths), 2)]
        return self._on.pad(x, [(0, 0)] * (x.ndim - len(pairs)) + pairs[::-1])

    constant_pad_nd = pad

    def tril(self, x: Any, diagonal: int = 0) -> Any:
        """What is on and below a diagonal, else 0."""
        rows, columns = x.shape[-2:]
        n = max(rows, columns) + abs(diagonal)
        below = self._on.triangle(n)
        begin = max(0, diagonal), max(0, -diagonal)
        mask = below[begin[0] : begin[0] + rows, begin[1] : begin[1] + columns]
        return self._on.where(mask != 0, x, 0)

    def triu(self, x: Any, diagonal: int = 0) -> Any:
        """What is on and above a diagonal, else 0."""
        return x - self.tril(x, diagonal - 1)

    def cast(self, x: Any, kind: str) -> Any:
        """Truth as numbers."""
        if kind != "float32":
            raise ValueError(f"cast: expected float32, got {kind}")
        return x * 1.0

    @staticmethod
    def _index(x: Any, dim: int, what: Any) -> tuple[Any, ...]:
        return (*(slice(None),) * (dim % x.ndim), what)

    def unfold(self, x: Any, dim: int, size: int, step: int) -> Any:
        """Windows along an axis, as a last axis of their own."""
        axis = dim % x.ndim
        starts = range(0, x.shape[axis] - size + 1, step)
        before = (slice(None),) * axis
        taken = [self._on.part(x, *before, slice(each, each + size)) for each in starts]
        windows = self._on.stack(taken, axis)
        rest = [each for each in range(x.ndim + 1) if each != axis + 1]
        return self._on.transpose(windows, (*rest, axis + 1))
