"""An array in a device's memory, between guard zones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from metalbench import _core
from metalbench.kernel.guard import GuardedBuffer
from metalbench.task.dtypes import dtype as element_type

Array = np.ndarray[Any, Any]


class Memory:
    """Memory for an array of any dtype; it is poisoned until something is written."""

    def __init__(self, device: _core.Device, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.shape = shape
        self.dtype = dtype
        nbytes = math.prod(shape) * dtype.itemsize
        self._guarded = GuardedBuffer(device, (nbytes,), element_type("uint8"))
        self._guarded.poison()

    @property
    def buffer(self) -> _core.Buffer:
        """The buffer for the kernel."""
        return self._guarded.buffer

    @property
    def array(self) -> Array:
        """The memory itself: a writable view."""
        view: Array = self._guarded.bytes.view(self.dtype).reshape(self.shape)
        return view

    def fill(self, array: Array) -> None:
        """Copy an array of this shape and dtype in."""
        self._guarded.fill(array)

    def holds(self, array: Array) -> bool:
        """Return whether the memory still has the bits of `array`."""
        return self._guarded.holds(array)

    def unwritten(self) -> Array:
        """Return a boolean array that marks unwritten elements."""
        marks = self._guarded.unwritten()
        return np.asarray(marks.reshape(*self.shape, self.dtype.itemsize).all(axis=-1))

    def broken_guard(self) -> str:
        """Return the place of a write outside of the array, as a phrase; empty for none."""
        return self._guarded.broken_guard()
