"""Two dimensions: 4096 x 4096 float32."""

from __future__ import annotations

import numpy as np

from benchmarks.engine.case import Array, Arrays, Case, Loop, Step

N = 4096


def image() -> dict[str, Array]:
    x = np.random.default_rng(0).standard_normal((N, N), dtype=np.float32)
    return {"x": x, "y": np.zeros_like(x)}


def image_and_weights() -> dict[str, Array]:
    return {**image(), "weights": np.linspace(-1, 1, 9, dtype=np.float32) ** 3}


def convolve(given: Arrays) -> dict[str, Array]:
    padded = np.pad(given["x"], 1)
    weights = given["weights"].reshape(3, 3)
    parts = (weights[i, j] * padded[i : i + N, j : j + N] for i in range(3) for j in range(3))
    return {"y": np.asarray(sum(parts))}


TRANSPOSE = Case(
    "transpose",
    "transpose.metal",
    "transpose.cl",
    "transpose.c",
    image,
    lambda given: {"y": given["x"].T},
    (Step("transpose", (N, N // 4), (32, 8), {"x": "x", "y": "y"}),),
    (Loop("transpose", N // 32, ("x", "y")),),
)
CONVOLUTION = Case(
    "conv3x3",
    "conv3x3.metal",
    "conv3x3.cl",
    "conv3x3.c",
    image_and_weights,
    convolve,
    (Step("conv3x3", (N, N), (32, 8), {"x": "x", "weights": "weights", "y": "y"}),),
    (Loop("conv3x3", N, ("x", "weights", "y")),),
    tolerance=1e-6,
)
IMAGES = [TRANSPOSE, CONVOLUTION]
