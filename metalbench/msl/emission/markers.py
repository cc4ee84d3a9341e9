"""Marker functions: calls in a kernel that the vectoriser replaces (mb/cpu/vector_markers.h)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from metalbench.msl.ir.model import Call
from metalbench.msl.vector.analysis import TransferFunction
from metalbench.msl.vector.shapes import UNIFORM, VARYING, Affine, Constant, Uniformity

PREFIX = "mb_vector_"
BARRIER_FUNCTION = "mb_vector_meet"
SIMD_WIDTH = 32
_TYPES = ("b1", "u8", "u16", "u32", "u64", "f16", "bf16", "f32")
_GROUP = re.compile(
    r"mb_vector_(?P<function>sum|product|min|max|and|or|xor|inclusive_sum|exclusive_sum"
    r"|inclusive_product|exclusive_product|shuffle|first)_(?P<type>\w+)$"
)
_POSITIONS = ("lane", "index", "x", "y", "z", "simdgroup", "arena")
REDUCTIONS = ("sum", "product", "min", "max", "and", "or", "xor")


class SimdFunction(NamedTuple):
    """A SIMD-group function, and its element type."""

    function: str
    type: str


def parse_simd_function(name: str) -> SimdFunction | None:
    """Return the SIMD-group function of a marker's name; None for other names."""
    found = _GROUP.match(name)
    if found is None or found["type"] not in _TYPES:
        return None
    return SimdFunction(found["function"], found["type"])


def is_position(name: str) -> bool:
    """Return whether a marker returns a position of a lane, which does not need other lanes."""
    return name.removeprefix(PREFIX) in _POSITIONS


def make_transfer_functions(
    width: int, *, rows: bool, names: Iterable[str], serialized: Iterable[str]
) -> Mapping[str, TransferFunction]:
    """Return how the uniformity of each called function's result follows from its operands.

    The results of `serialized` functions vary, because each lane calls them separately.
    """
    positions: dict[str, Uniformity] = {
        "lane": Constant(tuple(range(width))),
        "index": Affine(1),
        "x": Affine(1) if rows else VARYING,
        "y": UNIFORM if rows else VARYING,
        "z": UNIFORM if rows else VARYING,
        "simdgroup": UNIFORM,
        "arena": UNIFORM,
        "ballot": UNIFORM,
    }
    found: dict[str, TransferFunction] = {
        f"{PREFIX}{name}": _make_constant_transfer(uniformity)
        for name, uniformity in positions.items()
    }
    for name in names:
        group = parse_simd_function(name)
        if group is not None:
            found[name] = _make_simd_transfer(group.function)
    for name in serialized:
        found[name] = _make_constant_transfer(VARYING)
    return found


def _make_constant_transfer(uniformity: Uniformity) -> TransferFunction:
    return lambda call, operands: uniformity


def _make_simd_transfer(function: str) -> TransferFunction:
    if function in (*REDUCTIONS, "first"):
        return _make_constant_transfer(UNIFORM)
    return _transfer_shuffle if function == "shuffle" else _make_constant_transfer(VARYING)


def _transfer_shuffle(call: Call, operands: Sequence[Uniformity]) -> Uniformity:
    """Return UNIFORM if all lanes read one source lane."""
    return UNIFORM if operands[1] is UNIFORM else VARYING
