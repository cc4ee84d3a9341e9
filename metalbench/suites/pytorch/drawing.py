"""Inputs of imported modules: drawn by the file and by PyTorch, then so that they matter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from metalbench.suites.pytorch.module import Module
from metalbench.task.dtypes import dtype
from metalbench.task.expression import Expression
from metalbench.task.inputs import Input
from metalbench.task.variation import Variation, coarse

Values = np.ndarray[Any, Any]
# How much wider than at first, and where all are zero.
GAIN, ABOUT_ZERO = np.sqrt(6), 0.3


@dataclass(frozen=True)
class Part:
    """An argument, a parameter or a buffer of a module; `called` is its name there."""

    kind: str
    dims: tuple[Any, ...]
    dtype: str = "float32"
    varied: bool = True
    called: str = ""


@dataclass(frozen=True)
class DrawnInput(Input):
    """An input that PyTorch draws."""

    part: Part = field(default=Part("", ()))
    module: Module = field(default_factory=lambda: Module.of(Path()))
    name: str = ""

    @classmethod
    def of(cls, name: str, part: Part, shape: tuple[Expression, ...], module: Module) -> DrawnInput:
        """Return the input called `name` for a part of a module."""

        def draw(_: np.random.Generator, shape: tuple[int, ...], at: Mapping[str, int]) -> Values:
            return _own(module, part, name, at, 0).reshape(shape)

        text = {"argument": "by get_inputs", "parameter": "as PyTorch"}.get(part.kind, "fixed")
        unchanged = Variation("of wider spread", lambda values, _: values)  # drawn anew instead
        varied = () if part.kind == "buffer" else (unchanged, unchanged)
        kind = None if part.dtype == "float32" else dtype(part.dtype)
        return cls(shape, kind, text, draw, varied, part=part, module=module, name=name)

    def drawn(self, random: np.random.Generator, values: Mapping[str, int], seed: int) -> Values:
        """Return the numbers of the file; seeds with a variation have a wider spread."""
        shape = self.shape_at(values)
        variation = seed % (len(self.variations) + 1)
        if not variation or self.part.kind == "buffer":
            return self.draw(random, shape, values)
        own = _own(self.module, self.part, self.name, values, 0)
        if self.part.kind == "parameter":
            return _wide(own, random).reshape(shape)
        if self.dtype is not None or not self.part.varied:
            return _own(self.module, self.part, self.name, values, seed).reshape(shape)
        plain = np.asarray(random.standard_normal(shape), np.float32)
        return plain if variation == 1 else coarse().change(plain, random)


def _own(module: Module, part: Part, name: str, at: Mapping[str, int], seed: int) -> Values:
    """Return the numbers of the file for `seed`; arguments are identified by position."""
    drawn = module.drawn(at, seed)
    if part.kind == "argument":
        arrays = [each for each in drawn.arguments if isinstance(each, np.ndarray)]
        return arrays[int(part.called)]
    held = drawn.parameters if part.kind == "parameter" else drawn.buffers
    return held[part.called]


def _wide(own: Values, random: np.random.Generator) -> Values:
    """Constants evenly over half to one and a half; weights normal, so that variances last."""
    spread = float(own.std())
    if spread == 0:
        value = float(own.flat[0])
        drawn = (
            value * random.uniform(0.5, 1.5, own.shape)
            if value
            else random.normal(0, ABOUT_ZERO, own.shape)
        )
    elif own.ndim < 2:
        drawn = random.normal(float(own.mean()), max(spread, ABOUT_ZERO), own.shape)
    else:
        uniform = abs(own).max() < 1.9 * spread
        drawn = random.normal(0, GAIN * spread if uniform else spread, own.shape)
    return np.asarray(drawn, np.float32)
