"""Elements that lanes have near each other: read and written as one row, and put in order."""

from __future__ import annotations

from collections.abc import Sequence

from metalbench.msl.emission.access import Access, Vectors
from metalbench.msl.emission.body import Body
from metalbench.msl.emission.code import places
from metalbench.msl.emission.lanes import Lanes
from metalbench.msl.emission.one_by_one import each_lane
from metalbench.msl.emission.transposed import put_together, taken_apart, turned
from metalbench.msl.emission.turns import in_turn
from metalbench.msl.ir.types import Type

_MOST_APART = 4  # elements from a lane to the next
_WORD = 4  # bytes
_GROUP = 4  # words
_REGISTER = 32  # bytes: what is put in order at once; LLVM takes long over more
LINE = 64  # bytes of a cache line


def wide(body: Body, address: Lanes, access: Access, *, rarely: bool = False) -> Vectors | None:
    """Read or write all components as one row; None if there is none."""
    kinds, offsets = access.kinds, access.offsets
    apart = _apart(body, address, kinds, offsets)
    whole = is_whole(body, kinds, offsets)
    if access.values is None and apart:
        size = body.layout.size(kinds[0])
        return _in_order(body, address.scalar, kinds[0], apart, [each // size for each in offsets])
    if not whole:
        return None
    if access.values is not None and apart == len(kinds):
        interleave(body, address.scalar, kinds[0], access.values)
        return ()
    if _are_quads(body, kinds):
        return _quads(body, address, access, rarely=rarely)
    length = body.layout.size(kinds[0]) * len(kinds)
    with body.code.scratch():
        row = body.code.row(f"[{length * body.width} x i8]", LINE)
        if access.values is not None:
            interleave(body, row, kinds[0], access.values)
        copy(body, address, row, length, access, rarely=rarely)
        if access.values is not None:
            return ()
        return _in_order(body, row, kinds[0], len(kinds), range(len(kinds)))


def _are_quads(body: Body, kinds: Sequence[Type]) -> bool:
    return len(kinds) == _GROUP and body.layout.size(kinds[0]) == _WORD


def _quads(body: Body, address: Lanes, access: Access, *, rarely: bool) -> Vectors:
    """Groups of four words anywhere: some lanes at a time, which are put in order at once."""
    code, kind = body.code, access.kinds[0]
    if body.mask or rarely:
        return _quads_by_lane(body, address, access)
    group, row = f"<{_GROUP} x {kind}>", code.lanes(kind)
    with code.scratch():
        rows = [code.row(row, LINE) for _ in range(_GROUP)]

        def read(first: str, places: Sequence[str]) -> None:
            found = [code.value(f"load {group}, ptr {each}, align {_WORD}") for each in places]
            for each, part in zip(rows, turned(code, kind, found), strict=True):
                here = code.value(f"getelementptr {kind}, ptr {each}, i64 {first}")
                code.line(f"store {group} {part}, ptr {here}, align {_WORD}")

        def write(first: str, places: Sequence[str]) -> None:
            here = [code.value(f"getelementptr {kind}, ptr {each}, i64 {first}") for each in rows]
            parts = [code.value(f"load {group}, ptr {each}, align {_WORD}") for each in here]
            for place, found in zip(places, turned(code, kind, parts), strict=True):
                code.line(f"store {group} {found}, ptr {place}, align {_WORD}")

        for each, vector in zip(rows, access.values or (), strict=False):
            code.line(f"store {row} {vector}, ptr {each}, align {LINE}")
        in_turn(body, address, read if access.values is None else write, at_once=_GROUP)
        if access.values is not None:
            return ()
        return tuple(code.value(f"load {row}, ptr {each}, align {LINE}") for each in rows)


def _quads_by_lane(body: Body, address: Lanes, access: Access) -> Vectors:
    """The same of some lanes, or in little code."""
    code, kind = body.code, access.kinds[0]
    group = f"<{_GROUP} x {kind}>"

    def run(given: Sequence[str]) -> Sequence[str]:
        place, *parts = given
        if access.values is None:
            found = code.value(f"load {group}, ptr {place}, align {_WORD}")
            return [code.value(f"extractelement {group} {found}, i64 {at}") for at in range(_GROUP)]
        whole = "poison"
        for at, part in enumerate(parts):
            whole = code.value(f"insertelement {group} {whole}, {kind} {part}, i64 {at}")
        code.line(f"store {group} {whole}, ptr {place}, align {_WORD}")
        return []

    values = [Lanes(kind, vectors=(each,)) for each in access.values or ()]
    return each_lane(body, [address, *values], access.results, run)


def is_whole(body: Body, kinds: Sequence[Type], offsets: Sequence[int]) -> bool:
    """Whether several components of one kind lie side by side."""
    size = body.layout.size(kinds[0])
    same = len(kinds) > 1 and all(each == kinds[0] for each in kinds)
    return same and all(each == at * size for at, each in enumerate(offsets))


def _apart(body: Body, address: Lanes, kinds: Sequence[Type], offsets: Sequence[int]) -> int:
    """Elements from one lane to the next, if a row of all lanes in memory has them; else 0."""
    size = body.layout.size(kinds[0])
    if body.mask or not address.is_linear or address.holds:
        return 0
    if any(each != kinds[0] for each in kinds) or any(each % size for each in offsets):
        return 0
    apart = address.stride // size
    if address.stride % size or not 1 < apart <= _MOST_APART:
        return 0
    return apart if offsets[-1] // size < apart else 0


def copy(
    body: Body, address: Lanes, row: str, length: int, access: Access, *, rarely: bool
) -> None:
    """Into the row what each active lane has, or the other way."""
    code, alignment = body.code, body.layout.size(access.kinds[0])

    def move(there: str, here: str) -> None:
        source, target = (there, here) if access.values is None else (here, there)
        whole = code.value(f"load i{8 * length}, ptr {source}, align {alignment}")
        code.line(f"store i{8 * length} {whole}, ptr {target}, align {alignment}")

    def one(given: Sequence[str]) -> Sequence[str]:
        move(*given)
        return []

    def some(first: str, places: Sequence[str]) -> None:
        offset = code.value(f"mul i64 {first}, {length}")
        start = code.value(f"getelementptr i8, ptr {row}, i64 {offset}")
        for at, place in enumerate(places):
            move(place, code.value(f"getelementptr i8, ptr {start}, i64 {at * length}"))

    if body.mask or rarely:
        each_lane(body, [address, Lanes(address.type, row, length)], [], one)
    else:
        in_turn(body, address, some)


def _in_order(
    body: Body, first: str, kind: Type, apart: int, wanted: Sequence[int]
) -> tuple[str, ...]:
    """Every wanted element of groups of `apart` elements, by lanes.

    What lies between them is read, too. Before the first and behind the last one nothing is.
    """
    code, size = body.code, body.layout.size(kind)
    lanes = min(body.width, _REGISTER // size)
    if apart == _GROUP and size == _WORD and (wanted[-1] == _GROUP - 1 or body.width > lanes):
        return _of_groups(body, first, kind, wanted)
    parts: list[list[str]] = [[] for _ in wanted]
    for begin in range(0, body.width, lanes):
        is_last = begin + lanes == body.width
        gap = apart - 1 - wanted[-1] if is_last else 0
        behind = gap if begin else 0
        row = f"<{lanes * apart - (gap - behind)} x {kind}>"
        start = (begin * apart - behind) * size
        place = code.value(f"getelementptr i8, ptr {first}, i64 {start}") if start else first
        whole = code.value(f"load {row}, ptr {place}, align {size}")
        for found, each in zip(parts, wanted, strict=True):
            order = [lane * apart + each + behind for lane in range(lanes)]
            found.append(code.value(f"shufflevector {row} {whole}, {row} poison, {places(order)}"))
    return tuple(_joined(body, found, kind, lanes) for found in parts)


def _of_groups(body: Body, first: str, kind: Type, wanted: Sequence[int]) -> tuple[str, ...]:
    """The same of groups of four words. The last ones are read from before them, not beyond."""
    code, lanes, length = body.code, _REGISTER // _WORD, _GROUP * _WORD
    parts = []
    for begin in range(0, body.width, lanes):
        behind = _GROUP - 1 - wanted[-1] if begin + lanes == body.width else 0
        start = begin * length - behind * _WORD
        place = code.value(f"getelementptr i8, ptr {first}, i64 {start}")
        parts.append(taken_apart(code, kind, place, [each + behind for each in wanted]))
    return tuple(_joined(body, each, kind, lanes) for each in zip(*parts, strict=True))


def _joined(body: Body, parts: Sequence[str], kind: Type, size: int) -> str:
    """One vector of several."""
    while len(parts) > 1:
        part = f"<{size} x {kind}>"
        parts = [
            body.code.value(
                f"shufflevector {part} {one}, {part} {other}, {places(range(2 * size))}"
            )
            for one, other in zip(parts[::2], parts[1::2], strict=True)
        ]
        size *= 2
    return parts[0]


def interleave(body: Body, first: str, kind: Type, vectors: Sequence[str]) -> None:
    """Write the first elements of all vectors, then the second ones, and so on."""
    code, size, apart = body.code, body.layout.size(kind), len(vectors)
    lanes = min(body.width, _REGISTER // size)
    whole = code.lanes(kind)
    if apart == _GROUP and size == _WORD:
        for begin in range(0, body.width, lanes):
            own = places(range(begin, begin + lanes))
            rows = [
                code.value(f"shufflevector {whole} {each}, {whole} poison, {own}")
                for each in vectors
            ]
            place = code.value(f"getelementptr i8, ptr {first}, i64 {begin * apart * size}")
            put_together(code, kind, rows, place)
        return
    padded = apart if apart & (apart - 1) == 0 else 1 << apart.bit_length()
    for begin in range(0, body.width, lanes):
        parts = [
            code.value(
                f"shufflevector {whole} {each}, {whole} poison, "
                f"{places(range(begin, begin + lanes))}"
            )
            for each in vectors
        ]
        joined = _joined(body, [*parts, *["poison"] * (padded - apart)], kind, lanes)
        row = f"<{lanes * padded} x {kind}>"
        order = [which * lanes + lane for lane in range(lanes) for which in range(apart)]
        mixed = code.value(f"shufflevector {row} {joined}, {row} poison, {places(order)}")
        place = first
        if begin:
            place = code.value(f"getelementptr i8, ptr {first}, i64 {begin * apart * size}")
        code.line(f"store <{lanes * apart} x {kind}> {mixed}, ptr {place}, align {size}")
