"""Rows of 4096 x 1024 float32, one threadgroup a row; and the sum of 64 M float32."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.engine.case import Array, Case, Loop, Step

ROWS, COLS = 4096, 1024
COUNT, GROUPS = 64 * 1024 * 1024, 1024


def matrix() -> dict[str, Array]:
    x = np.random.default_rng(0).standard_normal((ROWS, COLS), dtype=np.float32)
    return {"x": x, "y": np.zeros_like(x)}


def softmax(x: Array) -> Array:
    y = np.exp(x - x.max(axis=1, keepdims=True))
    return np.asarray(y / y.sum(axis=1, keepdims=True))


def layer_norm(x: Array) -> Array:
    centred = x - x.mean(axis=1, keepdims=True)
    return np.asarray(centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5))


def rows(function: Callable[[Array], Array], threads: int) -> Case:
    name = function.__name__
    return Case(
        f"{name}, {threads} threads",
        f"{name}.metal",
        f"{name}.cl",
        f"{name}.c",
        matrix,
        lambda given: {"y": function(given["x"].astype(np.float64))},
        (Step(name, (ROWS * threads,), (threads,), {"x": "x", "y": "y"}),),
        (Loop(name, ROWS, ("x", "y")),),
        tolerance=2e-6,
        macros={"THREADS": f"{threads}u"},
    )


def numbers() -> dict[str, Array]:
    x = np.random.default_rng(0).random(COUNT, dtype=np.float32)
    return {"x": x, "partial": np.zeros(GROUPS, np.float32), "y": np.zeros(1, np.float32)}


SUM = Case(
    "sum",
    "sum.metal",
    "sum.cl",
    "sum.c",
    numbers,
    lambda given: {"y": np.array([given["x"].sum(dtype=np.float64)])},
    (
        Step("sum", (GROUPS * 256,), (256,), {"x": "x", "partial": "partial"}),
        Step("total", (256,), (256,), {"partial": "partial", "y": "y"}),
    ),
    (Loop("sum", GROUPS, ("x", "partial")), Loop("total", 1, ("partial", "y"))),
    tolerance=1e-5,
)

REDUCTIONS = [rows(f, threads) for f in (softmax, layer_norm) for threads in (256, 1024)] + [SUM]
