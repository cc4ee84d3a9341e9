"""Sums of 16 M numbers so far, and a radix sort of 1 M keys."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from benchmarks.engine.case import Array, Case, Loop, Step

COUNT, BLOCK = 16 * 1024 * 1024, 4096
KEYS, KEY_BLOCK, KEY_BITS = 1024 * 1024, 2048, 32
BITS, C_BITS, C_BLOCKS = 4, 8, 64


def numbers() -> dict[str, Array]:
    # Their sum has 30 bits: the others of a word say what it is the sum of.
    x = np.random.default_rng(0).integers(0, 32, COUNT, dtype=np.uint32)
    state = {"ticket": np.zeros(1, np.uint32), "states": np.zeros(COUNT // BLOCK, np.uint32)}
    return {"x": x, "y": np.zeros_like(x), **state}


def keys() -> dict[str, Array]:
    x = np.random.default_rng(0).integers(0, 2**KEY_BITS, KEYS, dtype=np.uint32)
    counts = np.zeros((1 << C_BITS) * C_BLOCKS, np.uint32)
    return {"x": x, "y": np.zeros_like(x), "scratch": np.zeros_like(x), "counts": counts}


def passes(bits: int) -> list[tuple[int, str, str]]:
    """Return the shift of each pass, and where keys come from and go to: to `y` in the end."""
    shifts = range(0, KEY_BITS, bits)
    places = ["x", *["scratch", "y"] * (len(shifts) // 2)]
    return [(shift, *way) for shift, way in zip(shifts, pairwise(places), strict=True)]


def radix_steps() -> tuple[Step, ...]:
    steps = []
    for shift, source, target in passes(BITS):
        threads = KEYS // KEY_BLOCK * 256
        counting = {"x": source, "counts": "counts", "shift": shift}
        moving = {"x": source, "y": target, "counts": "counts", "shift": shift}
        steps += [
            Step("count_digits", (threads,), (256,), counting),
            Step("starts_of_digits", (256,), (256,), {"counts": "counts"}),
            Step("move_keys", (threads,), (256,), moving),
        ]
    return tuple(steps)


def radix_loops() -> tuple[Loop, ...]:
    loops = []
    for shift, source, target in passes(C_BITS):
        loops += [
            Loop("count_digits", C_BLOCKS, (source, "counts", shift)),
            Loop("starts_of_digits", 1, ("counts",)),
            Loop("move_keys", C_BLOCKS, (source, target, "counts", shift)),
        ]
    return tuple(loops)


SCAN = Case(
    "scan, decoupled",
    "scan.metal",
    "scan.cl",
    "scan.c",
    numbers,
    lambda given: {"y": np.cumsum(given["x"], dtype=np.uint32)},
    (
        Step("clear", (COUNT // BLOCK,), (256,), {"ticket": "ticket", "states": "states"}),
        Step(
            "scan",
            (COUNT // BLOCK * 256,),
            (256,),
            {"x": "x", "y": "y", "ticket": "ticket", "states": "states"},
        ),
    ),
    (
        Loop("sums_of_blocks", COUNT // BLOCK, ("x", "states")),
        Loop("starts_of_blocks", 1, ("states",)),
        Loop("scan", COUNT // BLOCK, ("x", "states", "y")),
    ),
)
RADIX_SORT = Case(
    "radix_sort",
    "radix_sort.metal",
    "radix_sort.cl",
    "radix_sort.c",
    keys,
    lambda given: {"y": np.sort(given["x"])},
    radix_steps(),
    radix_loops(),
)
SCANS = [SCAN, RADIX_SORT]
