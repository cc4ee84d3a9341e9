"""Declare tasks for Fourier transforms of rows, with separate real and imaginary arrays."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np

from metalbench.task.declaration import Task, task
from metalbench.task.inputs import normal, output

Array = np.ndarray[Any, Any]


def whole_spectrum(name: str, cols: int, *, inverse: bool = False) -> Task:
    """Return the discrete Fourier transform of rows of `cols` complex numbers, or its inverse."""
    direct = np.fft.ifft if inverse else np.fft.fft
    by_mlx = mx.fft.ifft if inverse else mx.fft.fft

    def oracle(re: Array, im: Array, cols: int) -> tuple[Array, Array]:
        found = direct(re + 1j * im)
        return found.real, found.imag

    def scale(re: Array, im: Array, cols: int) -> tuple[Array, Array]:
        terms = (np.abs(re) + np.abs(im)).sum(axis=-1, keepdims=True)
        spread = np.broadcast_to(terms / (cols if inverse else 1), re.shape)
        return spread, spread

    def reference(re: Any, im: Any, cols: int) -> tuple[Any, Any]:
        found = by_mlx(re + 1j * im)
        return mx.real(found), mx.imag(found)

    reference.__name__ = name
    reference.__doc__ = (
        f"{'Inverse d' if inverse else 'D'}iscrete Fourier transform of rows of {cols} numbers."
    )
    return task(
        sizes=dict(
            small=dict(rows=4),
            odd1=dict(rows=5),
            odd2=dict(rows=19),
            seed=dict(rows=512),
            large=dict(rows=16384),
        ),
        gpu_headlines=("large",),
        inputs=dict(re=normal("rows", "cols"), im=normal("rows", "cols")),
        outputs=dict(y_re=output("rows", "cols"), y_im=output("rows", "cols")),
        constants=dict(cols=cols),
        oracle=oracle,
        scale=scale,
        flops=f"5 * rows * cols * {round(np.log2(cols))}",
        baseline="mx.fft.ifft" if inverse else "mx.fft.fft",
    )(reference)
