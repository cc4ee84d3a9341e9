"""Declare tasks on quantised weights in any format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import mlx.core as mx
import numpy as np

from metalbench.formats.affine import Affine
from metalbench.formats.drawn import minifloat, quantised
from metalbench.formats.minifloats import MODES, Mode
from metalbench.task import Input, Task, output, task

Sizes = Mapping[str, Mapping[str, int]]
_TYPES = ("float32", "float16", "bfloat16")


class Format:
    """A format of weights: inputs of tasks, exact values, and MLX's operations."""

    def __init__(self, form: Affine | Mode) -> None:
        self._form = form
        self.step = max(32, form.group)
        self.group = form.group
        self.is_affine = isinstance(form, Affine)
        self._mode = form.name if isinstance(form, Mode) else "affine"

    def inputs(self, *dims: str) -> dict[str, Input]:
        """Return the inputs that encode one matrix or several."""
        if isinstance(self._form, Mode):
            return minifloat(*dims, mode=self._form.name)
        return quantised(*dims, format=self._form)

    def values(self, *parts: Any) -> Any:
        """Return the weights in NumPy, in the precision of the scales."""
        return self._form.dequantised(*parts)

    def magnitudes(self, *parts: Any) -> Any:
        """Absolute terms of the weights."""
        if isinstance(self._form, Affine):
            return self._form.magnitudes(*parts)
        return np.abs(self._form.dequantised(*parts))

    def product(
        self, x: Any, w: Any, scales: Any, biases: Any = None, *, transpose: bool = True
    ) -> Any:
        """Return the product of x and the weights, or their transpose, by MLX."""
        return mx.quantized_matmul(
            x,
            w,
            scales,
            biases,
            transpose=transpose,
            group_size=self._form.group,
            bits=self._form.bits,
            mode=self._mode,
        )

    def multiply_gathered(self, x: Any, which: Any, w: Any, scales: Any, biases: Any = None) -> Any:
        """Return each row of x times the transpose of one matrix of several, by MLX."""
        found = mx.gather_qmm(
            x[:, None],
            w,
            scales,
            biases,
            rhs_indices=which,
            transpose=True,
            group_size=self._form.group,
            bits=self._form.bits,
            mode=self._mode,
        )
        return found[:, 0]

    def dequantised(self, w: Any, scales: Any, biases: Any = None, *, dtype: Any = None) -> Any:
        """Return the weights dequantised by MLX."""
        return mx.dequantize(
            w,
            scales,
            biases,
            group_size=self._form.group,
            bits=self._form.bits,
            mode=self._mode,
            dtype=dtype,
        )


def affine(bits: int, group: int = 64) -> Format:
    """Return whole numbers with a scale and a bias a group."""
    return Format(Affine(bits, group))


def mode(name: str) -> Format:
    """Return one of MODES."""
    return Format(MODES[name])


def _with_signature(
    name: str, names: tuple[str, ...], function: Callable[..., Any]
) -> Callable[..., Any]:
    """Return `function` under `name` with the arguments `names`, as `@task` requires."""
    scope: dict[str, Any] = {"function": function}
    given = ", ".join(names)
    exec(f"def {name}({given}): return function({given})", scope)
    made: Callable[..., Any] = scope[name]
    return made


def declare_weight_task(
    name: str,
    form: Format,
    *,
    before: Mapping[str, Input],
    weights: tuple[str, ...],
    y: tuple[str, ...],
    right: Callable[..., Any],
    reference: Callable[..., Any],
    flops: str,
    baseline: str,
    sizes: Sizes,
    gpu_headlines: tuple[str, ...] = ("large",),
    bytes: str | None = None,
) -> Task:
    """Return a task with the inputs `before` and quantised weights of the extents `weights`.

    `right(*before, weights)` computes the result. Exact values of the weights give the expected
    outputs, absolute terms give the scale of errors. `reference(*before, *parts)` is MLX's.
    """
    inputs = {**before, **form.inputs(*weights)}
    names, count = tuple(inputs), len(before)

    def oracle(*given: Any) -> Any:
        return right(*given[:count], form.values(*given[count:]))

    def scale(*given: Any) -> Any:
        plain = (np.abs(x) if x.dtype.kind == "f" else x for x in given[:count])
        return right(*plain, form.magnitudes(*given[count:]))

    return task(
        sizes=sizes,
        gpu_headlines=gpu_headlines,
        inputs=inputs,
        outputs=dict(y=output(*y)),
        oracle=_with_signature("oracle", names, oracle),
        scale=_with_signature("scale", names, scale),
        dtypes=_TYPES,
        flops=flops,
        bytes=bytes,
        baseline=baseline,
        multiples=dict(cols=form.step),
    )(_with_signature(name, names, reference))
