"""Windows over images in NumPy: convolutions and pools, channels last, for the oracle."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from metalbench.kernelbench.problems.parameters import WindowGeometry

Array = np.ndarray[Any, Any]
Numbers = Sequence[int]


def convolution(x: Array, w: Array, steps: WindowGeometry) -> Array:
    """For each tap a product of matrices."""
    stride, dilation, groups = steps.stride, steps.dilation, steps.groups
    x = np.pad(x, [(0, 0), *((p, p) for p in steps.padding), (0, 0)])
    taps = w.shape[1:-1]
    extents = _extents(x.shape[1:-1], taps, stride, dilation)
    y = np.zeros_like(x, shape=(x.shape[0], *extents, w.shape[0]), order="C")
    for tap in np.ndindex(*taps):
        begin = [t * d for t, d in zip(tap, dilation, strict=True)]
        y += _mix_channels(x[_window(begin, extents, stride)], w[(slice(None), *tap)], groups)
    return y


def transposed_convolution(x: Array, w: Array, steps: WindowGeometry) -> Array:
    """Add a matrix product for each tap, with a step of `stride`."""
    stride, dilation, more = steps.stride, steps.dilation, steps.output_padding
    taps, extents = w.shape[1:-1], x.shape[1:-1]
    spans = [
        (n - 1) * s + d * (k - 1) + 1 + o
        for n, s, d, k, o in zip(extents, stride, dilation, taps, more, strict=True)
    ]
    y = np.zeros_like(x, shape=(x.shape[0], *spans, w.shape[0]), order="C")
    for tap in np.ndindex(*taps):
        begin = [t * d for t, d in zip(tap, dilation, strict=True)]
        y[_window(begin, extents, stride)] += _mix_channels(x, w[(slice(None), *tap)], steps.groups)
    inner = (slice(p, n - p) for p, n in zip(steps.padding, spans, strict=True))
    return y[(slice(None), *inner)]


def max_pool(
    x: Array,
    kernel: Numbers,
    stride: Numbers,
    padding: Numbers,
    *,
    dilation: Numbers = (),
    ceil: bool = False,
) -> Array:
    """Return the largest of every window; what lies outside counts for nothing."""
    x = _pad(x, kernel, stride, padding, ceil)
    windows = _windows(x, kernel, stride, dilation or [1] * len(kernel))
    y = next(windows).copy()
    for each in windows:
        np.maximum(y, each, out=y)
    return y


def avg_pool(x: Array, kernel: Numbers, stride: Numbers, padding: Numbers) -> Array:
    """Return the mean of every window, zeros outside included."""
    x = np.pad(x, [(0, 0), *((p, p) for p in padding), (0, 0)])
    windows = _windows(x, kernel, stride, [1] * len(kernel))
    y = next(windows).copy()
    for each in windows:
        y += each
    return y / math.prod(kernel)


def _pad(x: Array, kernel: Numbers, stride: Numbers, padding: Numbers, ceil: bool) -> Array:
    borders = []
    for n, k, s, p in zip(x.shape[1:-1], kernel, stride, padding, strict=True):
        borders.append((p, p + (-(n + 2 * p - k) % s if ceil else 0)))
    return np.pad(x, [(0, 0), *borders, (0, 0)], constant_values=-np.inf)


def _windows(x: Array, kernel: Numbers, stride: Numbers, dilation: Numbers) -> Iterator[Array]:
    extents = _extents(x.shape[1:-1], kernel, stride, dilation)
    for tap in np.ndindex(*kernel):
        begin = [t * d for t, d in zip(tap, dilation, strict=True)]
        yield x[_window(begin, extents, stride)]


def _extents(pixels: Numbers, taps: Numbers, stride: Numbers, dilation: Numbers) -> list[int]:
    each = zip(pixels, taps, stride, dilation, strict=True)
    return [(n - d * (k - 1) - 1) // s + 1 for n, k, s, d in each]


def _window(begin: Numbers, extents: Numbers, stride: Numbers) -> tuple[slice, ...]:
    each = zip(begin, extents, stride, strict=True)
    return (slice(None), *(slice(b, b + s * (n - 1) + 1, s) for b, n, s in each))


def _mix_channels(x: Array, w: Array, groups: int) -> Array:
    """Channels by the filters of one tap, (filters, channels of a group)."""
    if groups == 1:
        return np.asanyarray(x @ w.T)
    if w.shape == (groups, 1):
        return np.asanyarray(x * w[:, 0])
    split = x.reshape(*x.shape[:-1], groups, -1)
    y = np.einsum("...gc,gfc->...gf", split, w.reshape(groups, -1, w.shape[-1]))
    return np.asanyarray(y.reshape(*x.shape[:-1], -1))
