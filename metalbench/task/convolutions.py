"""Declare tasks for convolutions with any stride, padding, dilation and number of groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import mlx.core as mx
import numpy as np

from metalbench.task.declaration import Task, task
from metalbench.task.inputs import normal, output

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class ConvolutionGeometry:
    """Taps, stride, padding and dilation of every spatial axis, and the number of groups."""

    taps: int
    stride: int = 1
    padding: int = 0
    dilation: int = 1
    groups: int = 1

    def outputs(self, extent: str) -> str:
        """Return how many outputs there are of `extent` inputs, as an expression."""
        reach = self.dilation * (self.taps - 1) + 1
        return f"({extent} + {2 * self.padding} - {reach}) / {self.stride} + 1"


def convolve_images(x: Array, w: Array, steps: ConvolutionGeometry) -> Array:
    """Convolve images, channels last, in any number of dimensions: for each tap a product."""
    borders = [(steps.padding, steps.padding)] * (x.ndim - 2)
    x = np.pad(x, [(0, 0), *borders, (0, 0)])
    reach = steps.dilation * (steps.taps - 1) + 1
    counts = [(n - reach) // steps.stride + 1 for n in x.shape[1:-1]]
    parts = []
    for image, filters in zip(
        np.split(x, steps.groups, axis=-1), np.split(w, steps.groups), strict=True
    ):
        y = np.zeros_like(x, shape=(len(x), *counts, len(filters)), order="C")
        for tap in np.ndindex(*w.shape[1:-1]):
            starts = [steps.dilation * at for at in tap]
            window = tuple(
                slice(at, at + steps.stride * (n - 1) + 1, steps.stride)
                for at, n in zip(starts, counts, strict=True)
            )
            y += image[(slice(None), *window)] @ filters[(slice(None), *tap)].T
        parts.append(y)
    return np.concatenate(parts, axis=-1)


def convolution_task(
    name: str,
    description: str,
    steps: ConvolutionGeometry,
    *,
    sizes: Mapping[str, Mapping[str, int]],
) -> Task:
    """Return the task of a convolution along the axes that sizes name besides batch and channels.

    Channels and filters are those of one group.
    """
    extents = [each for each in sizes["small"] if each not in ("batch", "channels", "filters")]
    by_mlx: Callable[..., Any] = (mx.conv1d, mx.conv2d)[len(extents) - 1]

    def reference(x: Any, w: Any) -> Any:
        return by_mlx(x, w, steps.stride, steps.padding, steps.dilation, steps.groups)

    reference.__name__ = name
    reference.__doc__ = description
    outputs = [steps.outputs(each) for each in extents]
    count = " * ".join(f"({each})" for each in outputs)
    filters = f"{steps.groups} * filters"
    return task(
        sizes=sizes,
        gpu_headlines=("large",),
        inputs=dict(
            x=normal("batch", *extents, f"{steps.groups} * channels"),
            w=normal(filters, *[steps.taps] * len(extents), "channels"),
        ),
        outputs=dict(y=output("batch", *outputs, filters)),
        oracle=lambda x, w: convolve_images(x, w, steps),
        scale=lambda x, w: convolve_images(np.abs(x), np.abs(w), steps),
        dtypes=("float32", "float16", "bfloat16"),
        flops=f"2 * batch * {count} * {filters} * {steps.taps ** len(extents)} * channels",
        baseline=f"mx.{by_mlx.__name__}",
    )(reference)
