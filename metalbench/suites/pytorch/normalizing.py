"""Norms, by PyTorch's names."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import ModuleType
from typing import Any


class Norms:
    """Norms by the statistics of what comes in."""

    _on: ModuleType

    def batch_norm(  # noqa: PLR0917 - PyTorch's arguments
        self,
        x: Any,
        weight: Any,
        bias: Any,
        mean: Any,
        variance: Any,
        training: bool,
        momentum: float,
        eps: float,
        *_: Any,
    ) -> Any:
        """By the statistics of this batch, channel by channel."""
        if not training:
            raise ValueError("batch_norm: expected a module in training, as KernelBench runs it")
        axes = (0, *range(2, x.ndim))
        return self._affine(self._on.normalized(x, axes, eps), weight, bias)

    def instance_norm(  # noqa: PLR0917 - PyTorch's arguments
        self,
        x: Any,
        weight: Any,
        bias: Any,
        mean: Any,
        variance: Any,
        training: bool,
        momentum: float,
        eps: float,
        *_: Any,
    ) -> Any:
        """Over the pixels of every image and channel."""
        axes = tuple(range(2, x.ndim))
        return self._affine(self._on.normalized(x, axes, eps), weight, bias)

    def group_norm(
        self, x: Any, groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5, *_: Any
    ) -> Any:
        """Over the pixels and channels of every group of an image."""
        split = self._on.reshape(x, (x.shape[0], groups, math.prod(x.shape[1:]) // groups))
        y = self._on.reshape(self._on.normalized(split, (2,), eps), x.shape)
        return self._affine(y, weight, bias)

    def layer_norm(
        self,
        x: Any,
        shape: Sequence[int],
        weight: Any = None,
        bias: Any = None,
        eps: float = 1e-5,
        *_: Any,
    ) -> Any:
        """Over the last axes."""
        y = self._on.normalized(x, tuple(range(-len(shape), 0)), eps)
        y = y if weight is None else y * weight
        return y if bias is None else y + bias

    def _affine(self, x: Any, weight: Any, bias: Any) -> Any:
        """Return a weight and a bias for each channel, axis 1."""
        along = (1, -1, *(1,) * (x.ndim - 2))
        x = x if weight is None else x * self._on.reshape(weight, along)
        return x if bias is None else x + self._on.reshape(bias, along)
