"""Windows over images in MLX: convolutions and pools, channels last, for the reference."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import mlx.core as mx

from metalbench.kernelbench.problems.parameters import WindowGeometry

Numbers = Sequence[int]

# The most elements of windows that MLX copies, 16 GiB of floats: of images of half a
# thousand pixels' side, each pixel in 16 windows, they would be more than a GPU has.
MOST_COPIED = 1 << 32


def convolution(x: mx.array, w: mx.array, steps: WindowGeometry) -> mx.array:
    """Return a convolution in as many dimensions as there are."""
    how: Any = {"stride": steps.stride, "padding": steps.padding, "groups": steps.groups}
    return mx.conv_general(x, w, kernel_dilation=steps.dilation, **how)


def transposed_convolution(x: mx.array, w: mx.array, steps: WindowGeometry) -> mx.array:
    """A transposed convolution; in three dimensions MLX has no groups, which are then split."""
    how: Any = (steps.stride, steps.padding, steps.dilation, steps.output_padding)
    one: Any = {3: mx.conv_transpose1d, 4: mx.conv_transpose2d, 5: mx.conv_transpose3d}[x.ndim]
    if x.ndim == 3:
        how = [each[0] for each in how]
    if x.ndim < 5 or steps.groups == 1:
        return one(x, w, *how, steps.groups)  # type: ignore[no-any-return]
    parts = zip(mx.split(x, steps.groups, -1), mx.split(w, steps.groups, 0), strict=True)
    return mx.concatenate([one(a, b, *how) for a, b in parts], axis=-1)


def max_pool(
    x: mx.array,
    kernel: Numbers,
    stride: Numbers,
    padding: Numbers,
    *,
    dilation: Numbers = (),
    ceil: bool = False,
) -> mx.array:
    """Return the largest of every window; what lies outside counts for nothing."""
    borders = []
    for n, k, s, p in zip(x.shape[1:-1], kernel, stride, padding, strict=True):
        borders.append((p, p + (-(n + 2 * p - k) % s if ceil else 0)))
    if any(high or low for low, high in borders):
        x = mx.pad(x, [(0, 0), *borders, (0, 0)], constant_values=-math.inf)
    if not dilation and _fits(x, kernel, stride):
        return _windows_of(x, kernel, stride).max(axis=_within(x))
    # Along one axis after the other: so the largest of four by four are six steps, and not fifteen.
    one = [1] * len(kernel)
    for axis in range(len(kernel)):
        here = [axis == other for other in range(len(kernel))]
        windows = _windows(
            x,
            [k if is_here else 1 for k, is_here in zip(kernel, here, strict=True)],
            [s if is_here else 1 for s, is_here in zip(stride, here, strict=True)],
            dilation or one,
        )
        x = functools.reduce(mx.maximum, windows)
    return x


def avg_pool(x: mx.array, kernel: Numbers, stride: Numbers, padding: Numbers) -> mx.array:
    """Return the mean of every window, zeros outside included."""
    if any(padding):
        x = mx.pad(x, [(0, 0), *((p, p) for p in padding), (0, 0)])
    if _fits(x, kernel, stride):
        return _windows_of(x, kernel, stride).mean(axis=_within(x))
    return mx.mean(mx.stack(list(_windows(x, kernel, stride, [1] * len(kernel)))), axis=0)


def _fits(x: mx.array, kernel: Numbers, stride: Numbers) -> bool:
    """Return whether windows fit 32-bit indices and the memory of copies on GPUs."""
    copied = x.size * math.prod(kernel) // math.prod(stride)
    return x.size < 1 << 31 and copied < MOST_COPIED


def _within(x: mx.array) -> tuple[int, ...]:
    """Return the axes of windows, behind those of their places."""
    inner = x.ndim - 2
    return tuple(range(1 + inner, 1 + 2 * inner))


def _windows_of(x: mx.array, kernel: Numbers, stride: Numbers) -> mx.array:
    """(batch, places..., kernel..., channels), without a copy, as MLX's own layers do it."""
    batch, *extents, channels = x.shape
    places = [(n - k) // s + 1 for n, k, s in zip(extents, kernel, stride, strict=True)]
    steps = [1]
    for n in (channels, *reversed(extents)):
        steps.insert(0, steps[0] * n)
    whole, *pixel, one = steps
    between = [step * s for step, s in zip(pixel, stride, strict=True)]
    return mx.as_strided(x, (batch, *places, *kernel, channels), (whole, *between, *pixel, one))


def _windows(
    x: mx.array, kernel: Numbers, stride: Numbers, dilation: Numbers
) -> Iterator[mx.array]:
    each = list(zip(x.shape[1:-1], kernel, stride, dilation, strict=True))
    places = [(n - d * (k - 1) - 1) // s + 1 for n, k, s, d in each]
    for tap in product(*map(range, kernel)):
        begin = [t * d for t, d in zip(tap, dilation, strict=True)]
        slices = (
            slice(b, b + s * (n - 1) + 1, s) for b, n, s in zip(begin, places, stride, strict=True)
        )
        yield x[(slice(None), *slices)]
