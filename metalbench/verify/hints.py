"""Describe the pattern of wrong elements in a sentence that suggests the likely mistake."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_AXES = {1: ("element",), 2: ("row", "column")}


def describe(
    got: Array, expected: Array, bad: Array, unwritten: Array, inputs: Mapping[str, Array]
) -> str:
    """Return a common property of the wrong elements (`bad`), or an empty string.

    `unwritten` marks elements that still hold the poison from before the run.
    """
    if unwritten.all():
        return "nothing was written"
    what = "were never written" if bad.any() and unwritten[bad].all() else "are wrong"
    whole = _describe_whole(got, inputs)
    if whole or bad.all():
        return whole or _describe_factor(got, expected) or _describe_shift(got, expected)
    if np.isnan(got[bad]).all() and not unwritten[bad].any():
        what = "are not a number"
    return (
        _describe_region(bad, what) or _describe_shift(got, expected) or _describe_remaining(what)
    )


def _describe_whole(got: Array, inputs: Mapping[str, Array]) -> str:
    """Describe a result that is one number, NaN, or a copy of an input."""
    flat = got.reshape(-1)
    if np.isnan(flat).all():
        return "every element is not a number"
    if got.size > 1 and (flat == flat[0]).all():
        return f"every element is {flat[0]}"
    for name, each in inputs.items():
        if each.size == got.size and np.array_equal(each.reshape(-1), flat):
            return f"it is a copy of the input {name}"
    return ""


def _describe_remaining(what: str) -> str:
    return "" if what == "are wrong" else f"they {what}"


def _describe_factor(got: Array, expected: Array) -> str:
    """Describe elements that all have the same wrong factor."""
    y, g = expected.reshape(-1).astype(np.float64), got.reshape(-1).astype(np.float64)
    if not np.isfinite(y).all() or not np.isfinite(g).all():
        return ""
    weight = np.abs(y) > np.abs(y).max() / 100
    if not weight.any():
        return ""
    factors = g[weight] / y[weight]
    factor = float(np.median(factors))
    if np.ptp(factors) > 1e-3 * abs(factor) or abs(factor - 1) < 1e-2:
        return ""
    if np.abs(g - factor * y).max() > 1e-3 * np.abs(factor * y).max():
        return ""
    return f"every element is {factor:.4g} times what it should be"


def _describe_shift(got: Array, expected: Array) -> str:
    """Describe rows that are right but shifted by one."""
    if got.shape[-1] < 3 or not np.isfinite(expected).all():
        return ""
    scale = np.abs(expected).max()
    ahead, behind = (expected[..., 1:], got[..., :-1]), (expected[..., :-1], got[..., 1:])
    for (y, g), words in ((ahead, "left (index + 1)"), (behind, "right (index - 1)")):
        with np.errstate(invalid="ignore", over="ignore"):
            close = np.abs(g.astype(np.float64) - y) <= 1e-3 * scale
        moving = np.abs(np.diff(expected, axis=-1)) > 1e-2 * scale
        if moving.any() and close.all():
            return f"the values are right but lie one place too far to the {words}"
    return ""


def _describe_region(bad: Array, what: str) -> str:
    """Describe wrong elements that fill an end, a band or a regular part of an axis or memory."""
    names = _AXES.get(bad.ndim, tuple(f"index of axis {axis}" for axis in range(bad.ndim)))
    total = int(bad.sum())
    inside = ""
    for axis, name in enumerate(names):
        others = tuple(each for each in range(bad.ndim) if each != axis)
        hit = np.flatnonzero(bad.any(axis=others))
        words = _describe_indices(hit, bad.shape[axis], name)
        if words and total == hit.size * (bad.size // bad.shape[axis]):
            return f"{words} {what}"
        inside = inside or words
    flat = np.flatnonzero(bad)
    words = _describe_indices(flat, bad.size, "element")
    if words and flat[-1] - flat[0] + 1 == flat.size:
        return f"{words} (in memory order) {what}"
    return f"all of them lie in {inside}" if inside else ""


def _describe_indices(hit: Array, extent: int, name: str) -> str:
    """Describe the ascending indices `hit` of an axis; empty if they are all or irregular."""
    several = f"{name}s" if not name.startswith("index") else name.replace("index", "indices", 1)
    steps = np.diff(hit)
    if hit.size == extent or (hit.size > 1 and (steps != steps[0]).any()):
        return ""
    first, last, count = int(hit[0]), int(hit[-1]), hit.size
    if count > 1 and steps[0] > 1:
        step = int(steps[0])
        to = "..." if last + step >= extent else f"..., {last}" if count > 2 else ""
        return f"{several} {first}, {first + step}{f', {to}' if to else ''} of {extent}"
    if last == extent - 1:
        return f"the last {count} of {extent} {several}"
    if first == 0:
        return f"the first {count} of {extent} {several}"
    return f"{several} {first} to {last} of {extent}"
