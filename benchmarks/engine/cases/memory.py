"""Where memory is what counts: places that indices name, and the neighbours of a point."""

from __future__ import annotations

import numpy as np

from benchmarks.engine.case import Array, Arrays, Case, Loop, Step

BLOCKS, BLOCK = 16 * 1024, 1024
N, DEPTH = 256, 32


def draw_index() -> dict[str, Array]:
    random = np.random.default_rng(0)
    x = random.standard_normal((BLOCKS, BLOCK), dtype=np.float32)
    index = random.permuted(np.tile(np.arange(BLOCK, dtype=np.uint32), (BLOCKS, 1)), axis=1)
    return {"x": x, "index": index, "y": np.zeros_like(x)}


def move_rows(given: Arrays) -> dict[str, Array]:
    x, index = given["x"], given["index"].astype(np.int64)
    scattered = np.empty_like(x)
    np.put_along_axis(scattered, index, x, axis=1)
    return {"y": scattered + np.take_along_axis(x, index, axis=1)}


def cube() -> dict[str, Array]:
    x = np.random.default_rng(0).standard_normal((N, N, N), dtype=np.float32)
    return {"x": x, "y": np.zeros_like(x)}


def of_neighbours(given: Arrays) -> dict[str, Array]:
    x = np.pad(given["x"].astype(np.float64), 1)
    inside = slice(1, -1)
    around = x[:-2, inside, inside] + x[2:, inside, inside]
    around += x[inside, :-2, inside] + x[inside, 2:, inside]
    around += x[inside, inside, :-2] + x[inside, inside, 2:]
    return {"y": 0.4 * x[inside, inside, inside] + 0.1 * around}


GATHER_SCATTER = Case(
    "gather_scatter",
    "gather_scatter.metal",
    "gather_scatter.cl",
    "gather_scatter.c",
    draw_index,
    move_rows,
    (Step("gather_scatter", (BLOCKS * 256,), (256,), {"x": "x", "index": "index", "y": "y"}),),
    (Loop("gather_scatter", BLOCKS, ("x", "index", "y")),),
)
STENCIL = Case(
    "stencil, 7 points",
    "stencil.metal",
    "stencil.cl",
    "stencil.c",
    cube,
    of_neighbours,
    (Step("stencil", (N, N, N // DEPTH), (32, 8, 1), {"x": "x", "y": "y"}),),
    (Loop("stencil", N * N, ("x", "y")),),
    tolerance=1e-6,
)
MEMORY = [GATHER_SCATTER, STENCIL]
