"""Tasks of making weights of few bits of plain rows."""

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
    """The task of `mx.quantize`: words (rows, cols * bits / 32), scales and biases of groups.

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
    """The task of `mx.quantize(mode=mode)`: words (rows, cols * bits / 32), scales of groups.

    Codes and scales are exact, as `Mode.quantised` has them: of two codes as near the even one.
    That is what MLX's Metal kernels choose, too; of codes of four bits its CPU takes the smaller
    one, and so the reference is no judge there. Zeros in plenty are not drawn: of a group of
    nothing else, MLX's back ends choose different scales. Nor is what is not finite, which groups
    of these formats do not have.
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
