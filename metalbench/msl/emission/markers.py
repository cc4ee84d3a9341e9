"""The functions that stand in a kernel for what only all lanes together can do (mb/vector.h)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from metalbench.msl.ir.model import Call
from metalbench.msl.vector.analysis import TransferFunction
from metalbench.msl.vector.shapes import UNIFORM, VARYING, Affine, Constant, Uniformity

PREFIX = "mb_vector_"
MEET = "mb_vector_meet"
SIMD_WIDTH = 32
_TYPES = ("b1", "u8", "u16", "u32", "u64", "f16", "bf16", "f32")
_GROUP = re.compile(
    r"mb_vector_(?P<function>sum|product|min|max|and|or|xor|inclusive_sum|exclusive_sum"
    r"|inclusive_product|exclusive_product|shuffle|first)_(?P<type>\w+)$"
)
_PLACES = ("lane", "index", "x", "y", "z", "simdgroup", "arena")
REDUCTIONS = ("sum", "product", "min", "max", "and", "or", "xor")


class GroupFunction(NamedTuple):
    """A function of a SIMD-group, and the type that it is for."""

    function: str
    type: str


def group_function(name: str) -> GroupFunction | None:
    """What a name stands for, if it is that of a SIMD-group's function."""
    found = _GROUP.match(name)
    if found is None or found["type"] not in _TYPES:
        return None
    return GroupFunction(found["function"], found["type"])


def is_place(name: str) -> bool:
    """Whether a marker says where a lane is, which takes no other lanes."""
    return name.removeprefix(PREFIX) in _PLACES


def sources(
    width: int, *, rows: bool, names: Iterable[str], apart: Iterable[str]
) -> Mapping[str, TransferFunction]:
    """The shapes of what the called functions of these names give.

    Functions `apart` do something of their own for every lane.
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
        f"{PREFIX}{name}": _always(uniformity) for name, uniformity in positions.items()
    }
    for name in names:
        group = group_function(name)
        if group is not None:
            found[name] = _of_group(group.function)
    for name in apart:
        found[name] = _always(VARYING)
    return found


def _always(uniformity: Uniformity) -> TransferFunction:
    return lambda call, shapes: uniformity


def _of_group(function: str) -> TransferFunction:
    if function in (*REDUCTIONS, "first"):
        return _always(UNIFORM)
    return _shuffled if function == "shuffle" else _always(VARYING)


def _shuffled(call: Call, shapes: Sequence[Uniformity]) -> Uniformity:
    """One lane's value, if all ask for the same."""
    return UNIFORM if shapes[1] is UNIFORM else VARYING
