"""What language models are made of: attention, and a matrix of 4-bit numbers times a vector."""

from __future__ import annotations

import numpy as np

from benchmarks.engine.case import Array, Arrays, Case, Loop, Step

HEADS, ROWS, DIMS = 8, 1024, 64
SIDE, GROUP = 4096, 64


def heads() -> dict[str, Array]:
    random = np.random.default_rng(0)
    arrays = {name: random.standard_normal((HEADS, ROWS, DIMS), dtype=np.float32) for name in "qkv"}
    return {**arrays, "y": np.zeros_like(arrays["q"])}


def attend(given: Arrays) -> dict[str, Array]:
    q, k, v = (given[name].astype(np.float64) for name in "qkv")
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(DIMS)
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    return {"y": weights @ v / weights.sum(axis=2, keepdims=True)}


def quantize_inputs() -> dict[str, Array]:
    random = np.random.default_rng(0)
    scales, biases = (
        random.standard_normal((SIDE, SIDE // GROUP), dtype=np.float32) for _ in range(2)
    )
    return {
        "w": random.integers(0, 2**32, (SIDE, SIDE // 8), dtype=np.uint32),
        "scales": scales,
        "biases": biases,
        "x": random.standard_normal(SIDE, dtype=np.float32),
        "y": np.zeros(SIDE, np.float32),
    }


def product(given: Arrays) -> dict[str, Array]:
    numbers = given["w"][..., None] >> np.arange(0, 32, 4, dtype=np.uint32) & 15
    grouped = numbers.reshape(SIDE, SIDE // GROUP, GROUP)
    scales, biases = (given[name].astype(np.float64)[..., None] for name in ("scales", "biases"))
    return {"y": (scales * grouped + biases).reshape(SIDE, SIDE) @ given["x"]}


ATTENTION = Case(
    "flash_attention",
    "flash_attention.metal",
    "flash_attention.cl",
    "attention.c",
    heads,
    attend,
    (Step("flash_attention", (ROWS, HEADS), (128, 1), {name: name for name in "qkvy"}),),
    (Loop("attention", HEADS * ROWS, tuple("qkvy")),),
    tolerance=1e-5,
)
QUANTIZED = Case(
    "quantized_matvec, int4",
    "quantized_matvec.metal",
    "quantized_matvec.cl",
    "quantized_matvec.c",
    quantize_inputs,
    product,
    (
        Step(
            "quantized_matvec",
            (SIDE // 8 * 256,),
            (256,),
            {name: name for name in ("w", "scales", "biases", "x", "y")},
        ),
    ),
    (Loop("quantized_matvec", SIDE, ("w", "scales", "biases", "x", "y")),),
    tolerance=1e-5,
)
TRANSFORMERS = [ATTENTION, QUANTIZED]
