"""Groups of four words, of several lanes: put in order by shuffles that are one instruction each.

LLVM would find longer ways, and takes its time to look for them.
"""

from __future__ import annotations

from collections.abc import Sequence

from metalbench.msl.emission.code import Code, places
from metalbench.msl.ir.types import Type

_LANES = 8
_GROUP = 4
_BYTES = 32  # of a register
# Of two registers: halves of both side by side; elements, or pairs of them, in turn, of each half.
_LOW_HALVES = (0, 1, 2, 3, 8, 9, 10, 11)
_HIGH_HALVES = (4, 5, 6, 7, 12, 13, 14, 15)
_LOW = (0, 8, 1, 9, 4, 12, 5, 13)
_HIGH = (2, 10, 3, 11, 6, 14, 7, 15)
_LOW_PAIRS = (0, 1, 8, 9, 4, 5, 12, 13)
_HIGH_PAIRS = (2, 3, 10, 11, 6, 7, 14, 15)
# Of two registers: one element of every group of four, halves by themselves; and of all in turn.
_OF_GROUPS = (0, 0, 8, 8, 4, 4, 12, 12)
_OF_PAIRS = (0, 2, 8, 10, 4, 6, 12, 14)
_HALVES_IN_TURN = (0, 4, 1, 5, 2, 6, 3, 7)
_LOW_OF_4, _HIGH_OF_4 = (0, 4, 1, 5), (2, 6, 3, 7)
_FIRST_PAIRS, _SECOND_PAIRS = (0, 1, 4, 5), (2, 3, 6, 7)


def taken_apart(code: Code, kind: Type, place: str, wanted: Sequence[int]) -> list[str]:
    """Of eight groups in memory the elements of these numbers: one row of each."""
    if len(wanted) == 1:
        return [_one_of_each(code, kind, place, wanted[0])]
    rows = [_two_groups(code, kind, place, at) for at in range(_GROUP)]
    both = {
        order: [_in_turn(code, kind, one, other, order) for one, other in (rows[:2], rows[2:])]
        for order in dict.fromkeys(_LOW if number < 2 else _HIGH for number in wanted)
    }
    found = []
    for number in wanted:
        first, second = both[_LOW if number < 2 else _HIGH]
        pairs = _HIGH_PAIRS if number % 2 else _LOW_PAIRS
        found.append(_in_turn(code, kind, first, second, pairs))
    return found


def _one_of_each(code: Code, kind: Type, place: str, number: int) -> str:
    """The same of one number: half as much for LLVM to read, and no more to run."""
    rows = []
    for at in range(_GROUP):
        here = code.value(f"getelementptr i8, ptr {place}, i64 {at * _BYTES}") if at else place
        rows.append(code.value(f"load {_row(kind)}, ptr {here}, align 4"))
    wanted = [each + number for each in _OF_GROUPS]
    first, second = (
        _in_turn(code, kind, one, other, wanted) for one, other in (rows[:2], rows[2:])
    )
    lanes = _in_turn(code, kind, first, second, _OF_PAIRS)  # those of even numbers, then the others
    return _in_turn(code, kind, lanes, "poison", _HALVES_IN_TURN)


def _two_groups(code: Code, kind: Type, place: str, at: int) -> str:
    """Side by side, and read by themselves: that takes no shuffle.

    Of lanes 0 and 4, 1 and 5, 2 and 6, 3 and 7.
    """
    group = f"<{_GROUP} x {kind}>"
    halves = []
    for lane in (at, at + _GROUP):
        offset = lane * _BYTES // 2
        here = code.value(f"getelementptr i8, ptr {place}, i64 {offset}") if lane else place
        halves.append(code.value(f"load {group}, ptr {here}, align 4"))
    return code.value(
        f"shufflevector {group} {halves[0]}, {group} {halves[1]}, {places(range(_LANES))}"
    )


def put_together(code: Code, kind: Type, rows: Sequence[str], place: str) -> None:
    """The reverse: write the first elements of all four, then the second ones, and so on."""
    x, y, z, w = rows
    low, high = (_in_turn(code, kind, x, y, order) for order in (_LOW, _HIGH))
    low2, high2 = (_in_turn(code, kind, z, w, order) for order in (_LOW, _HIGH))
    lanes = [
        _in_turn(code, kind, one, other, order)
        for one, other in ((low, low2), (high, high2))
        for order in (_LOW_PAIRS, _HIGH_PAIRS)
    ]
    first, third = _both(code, kind, lanes[0], lanes[1])
    second, fourth = _both(code, kind, lanes[2], lanes[3])
    for at, each in enumerate((first, second, third, fourth)):
        here = code.value(f"getelementptr i8, ptr {place}, i64 {at * _BYTES}")
        code.line(f"store {_row(kind)} {each}, ptr {here}, align 4")


def turned(code: Code, kind: Type, rows: Sequence[str]) -> list[str]:
    """Of four groups, one in each row, the first elements, the second ones, and so on; or back."""
    low, high = (
        [_in_turn(code, kind, one, other, order) for order in (_LOW_OF_4, _HIGH_OF_4)]
        for one, other in (rows[:2], rows[2:])
    )
    return [
        _in_turn(code, kind, one, other, order)
        for one, other in zip(low, high, strict=True)
        for order in (_FIRST_PAIRS, _SECOND_PAIRS)
    ]


def _row(kind: Type) -> str:
    return f"<{_LANES} x {kind}>"


def _both(code: Code, kind: Type, one: str, other: str) -> tuple[str, str]:
    return (
        _in_turn(code, kind, one, other, _LOW_HALVES),
        _in_turn(code, kind, one, other, _HIGH_HALVES),
    )


def _in_turn(code: Code, kind: Type, one: str, other: str, order: Sequence[int]) -> str:
    row = f"<{len(order)} x {kind}>"
    return code.value(f"shufflevector {row} {one}, {row} {other}, {places(order)}")
