"""Products of 1024 x 1024 matrices of float32."""

from __future__ import annotations

import numpy as np

from benchmarks.engine.case import Array, Case, Loop, Step

N = 1024


def matrices() -> dict[str, Array]:
    random = np.random.default_rng(0)
    a, b = (random.standard_normal((N, N), dtype=np.float32) for _ in range(2))
    return {"a": a, "b": b, "c": np.zeros_like(a)}


def case(
    name: str, grid: tuple[int, ...], threads: tuple[int, ...], opencl: Case | None = None
) -> Case:
    parameters = {"a": "a", "b": "b", "c": "c"}
    step = Step(name, grid, threads, parameters)
    return Case(
        name,
        f"{name}.metal",
        opencl.opencl if opencl else f"{name}.cl",
        "matmul.c",
        matrices,
        lambda given: {"c": given["a"].astype(np.float64) @ given["b"]},
        (step,),
        (Loop("matmul", N, ("a", "b", "c")),),
        tolerance=1e-5,
        opencl_steps=opencl.steps if opencl else (step,),
    )


TILED = case("matmul_tiled", (N, N), (16, 16))
BLOCKED = case("matmul_blocked", (N // 4, N // 4), (16, 16))
SIMDGROUP = case("matmul_simdgroup", (N // 64 * 128, N // 64), (128, 1), BLOCKED)
MATMUL = [TILED, BLOCKED, SIMDGROUP]
