"""Transpose groups of four words of several lanes by shuffles of one instruction each.

LLVM finds longer sequences for wider shuffles, and takes long to find them.
"""

from __future__ import annotations

from collections.abc import Sequence

from metalbench.msl.emission.code import IrBuilder, format_shuffle_mask
from metalbench.msl.ir.types import Type

_LANES = 8
GROUP = 4  # words
_BYTES = 32  # of a register
# Masks for two registers: their low or high halves; elements or pairs of each half, interleaved.
_LOW_HALVES = (0, 1, 2, 3, 8, 9, 10, 11)
_HIGH_HALVES = (4, 5, 6, 7, 12, 13, 14, 15)
_LOW = (0, 8, 1, 9, 4, 12, 5, 13)
_HIGH = (2, 10, 3, 11, 6, 14, 7, 15)
_LOW_PAIRS = (0, 1, 8, 9, 4, 5, 12, 13)
_HIGH_PAIRS = (2, 3, 10, 11, 6, 7, 14, 15)
# Masks for two registers: one element of each group of four, within halves, then interleaved.
_OFGROUPS = (0, 0, 8, 8, 4, 4, 12, 12)
_OF_PAIRS = (0, 2, 8, 10, 4, 6, 12, 14)
_HALVES_IN_TURN = (0, 4, 1, 5, 2, 6, 3, 7)
_LOW_OF_4, _HIGH_OF_4 = (0, 4, 1, 5), (2, 6, 3, 7)
_FIRST_PAIRS, _SECOND_PAIRS = (0, 1, 4, 5), (2, 3, 6, 7)


def load_quads(ir: IrBuilder, kind: Type, place: str, wanted: Sequence[int]) -> list[str]:
    """Load eight groups of four, and return one row per element number in `wanted`."""
    if len(wanted) == 1:
        return [_load_one_of_quads(ir, kind, place, wanted[0])]
    rows = [_load_two_quads(ir, kind, place, at) for at in range(GROUP)]
    both = {
        order: [_shuffle(ir, kind, one, other, order) for one, other in (rows[:2], rows[2:])]
        for order in dict.fromkeys(_LOW if number < 2 else _HIGH for number in wanted)
    }
    found = []
    for number in wanted:
        first, second = both[_LOW if number < 2 else _HIGH]
        pairs = _HIGH_PAIRS if number % 2 else _LOW_PAIRS
        found.append(_shuffle(ir, kind, first, second, pairs))
    return found


def _load_one_of_quads(ir: IrBuilder, kind: Type, place: str, number: int) -> str:
    """Load one element of each group, which is half as much text at the same speed."""
    rows = []
    for at in range(GROUP):
        here = ir.emit(f"getelementptr i8, ptr {place}, i64 {at * _BYTES}") if at else place
        rows.append(ir.emit(f"load {_get_row_type(kind)}, ptr {here}, align 4"))
    wanted = [each + number for each in _OFGROUPS]
    first, second = (_shuffle(ir, kind, one, other, wanted) for one, other in (rows[:2], rows[2:]))
    lanes = _shuffle(ir, kind, first, second, _OF_PAIRS)  # even lanes, then odd lanes
    return _shuffle(ir, kind, lanes, "poison", _HALVES_IN_TURN)


def _load_two_quads(ir: IrBuilder, kind: Type, place: str, at: int) -> str:
    """Load two groups by separate loads, which needs no shuffle of registers.

    These are the groups of lanes 0 and 4, 1 and 5, 2 and 6, 3 and 7.
    """
    group = f"<{GROUP} x {kind}>"
    halves = []
    for lane in (at, at + GROUP):
        offset = lane * _BYTES // 2
        here = ir.emit(f"getelementptr i8, ptr {place}, i64 {offset}") if lane else place
        halves.append(ir.emit(f"load {group}, ptr {here}, align 4"))
    mask = format_shuffle_mask(range(_LANES))
    return ir.emit(f"shufflevector {group} {halves[0]}, {group} {halves[1]}, {mask}")


def store_quads(ir: IrBuilder, kind: Type, rows: Sequence[str], place: str) -> None:
    """Store the first elements of all four rows, then the second ones, and so on."""
    x, y, z, w = rows
    low, high = (_shuffle(ir, kind, x, y, order) for order in (_LOW, _HIGH))
    low2, high2 = (_shuffle(ir, kind, z, w, order) for order in (_LOW, _HIGH))
    lanes = [
        _shuffle(ir, kind, one, other, order)
        for one, other in ((low, low2), (high, high2))
        for order in (_LOW_PAIRS, _HIGH_PAIRS)
    ]
    first, third = _shuffle_halves(ir, kind, lanes[0], lanes[1])
    second, fourth = _shuffle_halves(ir, kind, lanes[2], lanes[3])
    for at, each in enumerate((first, second, third, fourth)):
        here = ir.emit(f"getelementptr i8, ptr {place}, i64 {at * _BYTES}")
        ir.emit_void(f"store {_get_row_type(kind)} {each}, ptr {here}, align 4")


def transpose(ir: IrBuilder, kind: Type, rows: Sequence[str]) -> list[str]:
    """Transpose a 4 by 4 matrix of words, one row per vector."""
    low, high = (
        [_shuffle(ir, kind, one, other, order) for order in (_LOW_OF_4, _HIGH_OF_4)]
        for one, other in (rows[:2], rows[2:])
    )
    return [
        _shuffle(ir, kind, one, other, order)
        for one, other in zip(low, high, strict=True)
        for order in (_FIRST_PAIRS, _SECOND_PAIRS)
    ]


def _get_row_type(kind: Type) -> str:
    return f"<{_LANES} x {kind}>"


def _shuffle_halves(ir: IrBuilder, kind: Type, one: str, other: str) -> tuple[str, str]:
    return (
        _shuffle(ir, kind, one, other, _LOW_HALVES),
        _shuffle(ir, kind, one, other, _HIGH_HALVES),
    )


def _shuffle(ir: IrBuilder, kind: Type, one: str, other: str, order: Sequence[int]) -> str:
    row = f"<{len(order)} x {kind}>"
    return ir.emit(f"shufflevector {row} {one}, {row} {other}, {format_shuffle_mask(order)}")
