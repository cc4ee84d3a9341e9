"""Declare tasks that quantise plain rows."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np

from metalbench.formats.affine import Affine
from metalbench.formats.minifloats import MODES
from metalbench.formats.problems import MATRICES
from metalbench.task import Task, even, heavy_tailed, normal, output, task

Array = np.ndarray[Any, Any]
GROUP = 64


def quantize(name: str, bits: int) -> Task:
    """Return the task of `mx.quantize`: words (rows, cols * bits / 32), scales and biases.

    Codes are exact: they follow from single-precision arithmetic as in MLX's quantisation.
    """
    form = Affine(bits, GROUP)

    def reference(x: mx.array) -> Any:
        return mx.quantize(x, group_size=GROUP, bits=bits)

    def oracle(x: Array) -> Any:
        return form.quantised(x)

    reference.__name__ = name
    groups = ("rows", f"cols / {GROUP}")
    return task(
        sizes=MATRICES,
        gpu_headlines=("large",),
        inputs=dict(x=normal("rows", "cols")),
        outputs=dict(
            y=output("rows", f"cols * {bits} / 32", dtype="uint32"),
            y_scales=output(*groups),
            y_biases=output(*groups),
        ),
        multiples=dict(cols=GROUP),
        oracle=oracle,
        dtypes=("float32", "float16", "bfloat16"),
        flops="8 * rows * cols",
        bytes=f"rows * cols * (itemsize + {bits} / 8 + 2 * itemsize / {GROUP})",
        baseline="mx.quantize",
    )(reference)


def quantize_small_floats(name: str, mode: str) -> Task:
    """Return the task of `mx.quantize(mode=mode)`: words (rows, cols * bits / 32), scales.

    Codes and scales are exact, as in `Mode.quantised`: ties go to even, as in MLX's Metal kernels.
    MLX on the CPU rounds ties of 4-bit codes to the smaller one, so that it cannot be compared.
    Inputs have no groups of zeros, for which MLX's back ends choose different scales, and no
    infinities or NaN, which these formats cannot represent.
    """
    form = MODES[mode]

    def reference(x: mx.array) -> Any:
        words, scales = mx.quantize(x, mode=mode)[:2]
        return words, scales

    def oracle(x: Array) -> Any:
        return form.quantised(x)

    reference.__name__ = name
    return task(
        sizes=MATRICES,
        gpu_headlines=("large",),
        inputs=dict(x=normal("rows", "cols").only(heavy_tailed(), even())),
        outputs=dict(
            y=output("rows", f"cols * {form.bits} / 32", dtype="uint32"),
            y_scales=output("rows", f"cols / {form.group}", dtype="uint8"),
        ),
        # MLX reshapes what it packs to whole words of eight codes by 32 elements.
        multiples=dict(cols=32),
        oracle=oracle,
        dtypes=("float32", "float16", "bfloat16"),
        flops="4 * rows * cols",
        bytes=f"rows * cols * (itemsize + {form.bits} / 8 + 1 / {form.group})",
        baseline="mx.quantize",
    )(reference)
