"""Sizes and element types shared by tasks on rows or elements of a matrix."""

from __future__ import annotations

FLOATING = ("float32", "float16", "bfloat16")

# One odd number of columns is less than a multiple of four by one, the other more.
_ODD = {"odd1": {"rows": 37, "cols": 1023}, "odd2": {"rows": 5, "cols": 4097}}
ROWS = {
    "small": {"rows": 16, "cols": 256},
    **_ODD,
    "seed": {"rows": 1024, "cols": 1024},
    "large": {"rows": 2048, "cols": 4096},
}
ELEMENTS = {
    "small": {"rows": 16, "cols": 256},
    **_ODD,
    "seed": {"rows": 16, "cols": 16384},
    "large": {"rows": 2048, "cols": 4096},
}
