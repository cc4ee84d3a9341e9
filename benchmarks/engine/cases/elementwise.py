"""64 M float32, one thread an element."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.engine.case import Array, Case, Loop, Step

COUNT = 64 * 1024 * 1024


def arrays() -> dict[str, Array]:
    x = np.random.default_rng(0).standard_normal(COUNT, dtype=np.float32)
    return {"x": x, "y": np.zeros_like(x)}


def relu(x: Array) -> Array:
    return np.maximum(x, 0)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def gelu(x: Array) -> Array:
    return x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi).astype(np.float32) * (x + 0.044715 * x**3)))


def case(function: Callable[[Array], Array]) -> Case:
    name = function.__name__
    return Case(
        name,
        f"{name}.metal",
        f"{name}.cl",
        f"{name}.c",
        arrays,
        lambda given: {"y": function(given["x"])},
        (Step(name, (COUNT,), (256,), {"x": "x", "y": "y"}),),
        (Loop(name, COUNT, ("x", "y")),),
        tolerance=1e-6,
    )


ELEMENTWISE = [case(relu), case(sigmoid), case(gelu)]
