"""Transpose groups of four words of several lanes by shuffles of one instruction each.

LLVM finds longer sequences for wider shuffles, and takes long to find them.
"""

from __future__ import annotations

from collections.abc import Sequence

from metalbench.msl.ir.types import Type
from metalbench.msl.vectorize.addresses import MemoryAccess, Vectors
from metalbench.msl.vectorize.body import Emitter
from metalbench.msl.vectorize.gather_scatter import access_row
from metalbench.msl.vectorize.ir_builder import IrBuilder, format_shuffle_mask
from metalbench.msl.vectorize.lane_values import LaneValue
from metalbench.msl.vectorize.serialize import for_each_lane_group, map_lanes

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


# Interleaved accesses: adjacent elements of several lanes as one row, shuffled into vectors.

_MAX_FACTOR = 4  # interleave factor: elements from a lane to the next
_WORD = 4  # bytes
_REGISTER = 32  # bytes per shuffle; LLVM takes long for wider ones
CACHE_LINE = 64  # bytes of a cache line


def access_interleaved(
    emitter: Emitter, address: LaneValue, access: MemoryAccess, *, rarely: bool = False
) -> Vectors | None:
    """Load or store all components as one row; return None if they do not form one."""
    kinds, offsets = access.kinds, access.offsets
    factor = _get_interleave_factor(emitter, address, kinds, offsets)
    whole = is_contiguous(emitter, kinds, offsets)
    if access.values is None and factor:
        size = emitter.layout.size(kinds[0])
        return _load_deinterleaved(
            emitter, address.scalar, kinds[0], factor, [each // size for each in offsets]
        )
    if not whole:
        return None
    if access.values is not None and factor == len(kinds):
        store_interleaved(emitter, address.scalar, kinds[0], access.values)
        return ()
    if len(kinds) == GROUP and emitter.layout.size(kinds[0]) == _WORD:
        return _access_quads(emitter, address, access, rarely=rarely)
    length = emitter.layout.size(kinds[0]) * len(kinds)
    with emitter.ir.scratch_scope():
        row = emitter.ir.take_row(f"[{length * emitter.width} x i8]", CACHE_LINE)
        if access.values is not None:
            store_interleaved(emitter, row, kinds[0], access.values)
        copy_elements(emitter, address, row, length, access, rarely=rarely)
        if access.values is not None:
            return ()
        return _load_deinterleaved(emitter, row, kinds[0], len(kinds), range(len(kinds)))


def _access_quads(
    emitter: Emitter, address: LaneValue, access: MemoryAccess, *, rarely: bool
) -> Vectors:
    """Access groups of four words at arbitrary addresses, transposing some lanes at a time."""
    ir, kind = emitter.ir, access.kinds[0]
    if emitter.mask or rarely:
        return _access_quads_by_lane(emitter, address, access)
    group, row = f"<{GROUP} x {kind}>", ir.vector_type(kind)
    with ir.scratch_scope():
        rows = [ir.take_row(row, CACHE_LINE) for _ in range(GROUP)]

        def read(first: str, places: Sequence[str]) -> None:
            found = [ir.emit(f"load {group}, ptr {each}, align {_WORD}") for each in places]
            for each, part in zip(rows, transpose(ir, kind, found), strict=True):
                here = ir.emit(f"getelementptr {kind}, ptr {each}, i64 {first}")
                ir.emit_void(f"store {group} {part}, ptr {here}, align {_WORD}")

        def write(first: str, places: Sequence[str]) -> None:
            here = [ir.emit(f"getelementptr {kind}, ptr {each}, i64 {first}") for each in rows]
            parts = [ir.emit(f"load {group}, ptr {each}, align {_WORD}") for each in here]
            for place, found in zip(places, transpose(ir, kind, parts), strict=True):
                ir.emit_void(f"store {group} {found}, ptr {place}, align {_WORD}")

        for each, vector in zip(rows, access.values or (), strict=False):
            ir.emit_void(f"store {row} {vector}, ptr {each}, align {CACHE_LINE}")
        for_each_lane_group(
            emitter, address, read if access.values is None else write, at_once=GROUP
        )
        if access.values is not None:
            return ()
        return tuple(ir.emit(f"load {row}, ptr {each}, align {CACHE_LINE}") for each in rows)


def _access_quads_by_lane(emitter: Emitter, address: LaneValue, access: MemoryAccess) -> Vectors:
    """Access groups of four words lane by lane: with a mask, or in little code."""
    ir, kind = emitter.ir, access.kinds[0]
    group = f"<{GROUP} x {kind}>"

    def run(given: Sequence[str]) -> Sequence[str]:
        place, *parts = given
        if access.values is None:
            found = ir.emit(f"load {group}, ptr {place}, align {_WORD}")
            return [ir.emit(f"extractelement {group} {found}, i64 {at}") for at in range(GROUP)]
        whole = "poison"
        for at, part in enumerate(parts):
            whole = ir.emit(f"insertelement {group} {whole}, {kind} {part}, i64 {at}")
        ir.emit_void(f"store {group} {whole}, ptr {place}, align {_WORD}")
        return []

    values = [LaneValue(kind, vectors=(each,)) for each in access.values or ()]
    return map_lanes(emitter, [address, *values], access.results, run)


def is_contiguous(emitter: Emitter, kinds: Sequence[Type], offsets: Sequence[int]) -> bool:
    """Return whether several components of one type are adjacent."""
    size = emitter.layout.size(kinds[0])
    same = len(kinds) > 1 and all(each == kinds[0] for each in kinds)
    return same and all(each == at * size for at, each in enumerate(offsets))


def _get_interleave_factor(
    emitter: Emitter, address: LaneValue, kinds: Sequence[Type], offsets: Sequence[int]
) -> int:
    """Return the elements from one lane to the next, if all lanes form a row of them; else 0."""
    size = emitter.layout.size(kinds[0])
    if emitter.mask or not address.is_affine or address.condition:
        return 0
    if any(each != kinds[0] for each in kinds) or any(each % size for each in offsets):
        return 0
    factor = address.stride // size
    if address.stride % size or not 1 < factor <= _MAX_FACTOR:
        return 0
    return factor if offsets[-1] // size < factor else 0


def copy_elements(
    emitter: Emitter,
    address: LaneValue,
    row: str,
    length: int,
    access: MemoryAccess,
    *,
    rarely: bool,
) -> None:
    """Copy the elements of each active lane to the row, or for a store from it."""
    ir, alignment = emitter.ir, emitter.layout.size(access.kinds[0])

    def move(there: str, here: str) -> None:
        source, target = (there, here) if access.values is None else (here, there)
        whole = ir.emit(f"load i{8 * length}, ptr {source}, align {alignment}")
        ir.emit_void(f"store i{8 * length} {whole}, ptr {target}, align {alignment}")

    def one(given: Sequence[str]) -> Sequence[str]:
        move(*given)
        return []

    def some(first: str, places: Sequence[str]) -> None:
        offset = ir.emit(f"mul i64 {first}, {length}")
        start = ir.emit(f"getelementptr i8, ptr {row}, i64 {offset}")
        for at, place in enumerate(places):
            move(place, ir.emit(f"getelementptr i8, ptr {start}, i64 {at * length}"))

    if emitter.mask or rarely:
        map_lanes(emitter, [address, LaneValue(address.type, row, length)], [], one)
    else:
        for_each_lane_group(emitter, address, some)


def _load_deinterleaved(
    emitter: Emitter, first: str, kind: Type, factor: int, wanted: Sequence[int]
) -> tuple[str, ...]:
    """Return a vector for each wanted element of groups of `factor` elements.

    Elements between the wanted ones are read too; none before the first or after the last one.
    """
    ir, size = emitter.ir, emitter.layout.size(kind)
    lanes = min(emitter.width, _REGISTER // size)
    if factor == GROUP and size == _WORD and (wanted[-1] == GROUP - 1 or emitter.width > lanes):
        return _load_quads(emitter, first, kind, wanted)
    parts: list[list[str]] = [[] for _ in wanted]
    for begin in range(0, emitter.width, lanes):
        is_last = begin + lanes == emitter.width
        gap = factor - 1 - wanted[-1] if is_last else 0
        skipped = gap if begin else 0
        row = f"<{lanes * factor - (gap - skipped)} x {kind}>"
        start = (begin * factor - skipped) * size
        place = ir.emit(f"getelementptr i8, ptr {first}, i64 {start}") if start else first
        whole = ir.emit(f"load {row}, ptr {place}, align {size}")
        for found, each in zip(parts, wanted, strict=True):
            order = [lane * factor + each + skipped for lane in range(lanes)]
            found.append(
                ir.emit(f"shufflevector {row} {whole}, {row} poison, {format_shuffle_mask(order)}")
            )
    return tuple(_concatenate(emitter, found, kind, lanes) for found in parts)


def _load_quads(emitter: Emitter, first: str, kind: Type, wanted: Sequence[int]) -> tuple[str, ...]:
    """Return the wanted elements of groups of four words; read no element after the last one."""
    ir, lanes, length = emitter.ir, _REGISTER // _WORD, GROUP * _WORD
    parts = []
    for begin in range(0, emitter.width, lanes):
        skipped = GROUP - 1 - wanted[-1] if begin + lanes == emitter.width else 0
        start = begin * length - skipped * _WORD
        place = ir.emit(f"getelementptr i8, ptr {first}, i64 {start}")
        parts.append(load_quads(ir, kind, place, [each + skipped for each in wanted]))
    return tuple(_concatenate(emitter, each, kind, lanes) for each in zip(*parts, strict=True))


def _concatenate(emitter: Emitter, parts: Sequence[str], kind: Type, size: int) -> str:
    """Concatenate vectors."""
    while len(parts) > 1:
        part = f"<{size} x {kind}>"
        mask = format_shuffle_mask(range(2 * size))
        parts = [
            emitter.ir.emit(f"shufflevector {part} {one}, {part} {other}, {mask}")
            for one, other in zip(parts[::2], parts[1::2], strict=True)
        ]
        size *= 2
    return parts[0]


def store_interleaved(emitter: Emitter, first: str, kind: Type, vectors: Sequence[str]) -> None:
    """Store the first elements of all vectors, then the second ones, and so on."""
    ir, size, factor = emitter.ir, emitter.layout.size(kind), len(vectors)
    lanes = min(emitter.width, _REGISTER // size)
    whole = ir.vector_type(kind)
    if factor == GROUP and size == _WORD:
        for begin in range(0, emitter.width, lanes):
            own = format_shuffle_mask(range(begin, begin + lanes))
            rows = [
                ir.emit(f"shufflevector {whole} {each}, {whole} poison, {own}") for each in vectors
            ]
            place = ir.emit(f"getelementptr i8, ptr {first}, i64 {begin * factor * size}")
            store_quads(ir, kind, rows, place)
        return
    padded = factor if factor & (factor - 1) == 0 else 1 << factor.bit_length()
    for begin in range(0, emitter.width, lanes):
        parts = [
            ir.emit(
                f"shufflevector {whole} {each}, {whole} poison, "
                f"{format_shuffle_mask(range(begin, begin + lanes))}"
            )
            for each in vectors
        ]
        joined = _concatenate(emitter, [*parts, *["poison"] * (padded - factor)], kind, lanes)
        row = f"<{lanes * padded} x {kind}>"
        order = [which * lanes + lane for lane in range(lanes) for which in range(factor)]
        mixed = ir.emit(f"shufflevector {row} {joined}, {row} poison, {format_shuffle_mask(order)}")
        place = first
        if begin:
            place = ir.emit(f"getelementptr i8, ptr {first}, i64 {begin * factor * size}")
        ir.emit_void(f"store <{lanes * factor} x {kind}> {mixed}, ptr {place}, align {size}")


# Contiguous rows of all lanes that need a check at run time.


def access_checked_row(
    emitter: Emitter, address: LaneValue, access: MemoryAccess
) -> Vectors | None:
    """Access all components as one contiguous row if a check passes; None if they never are one.

    If the check fails, which is rare, the elements are copied from or to a temporary row.
    """
    kinds, ir = access.kinds, emitter.ir
    plain = LaneValue(address.type, address.scalar, address.stride)
    length = emitter.layout.size(kinds[0]) * len(kinds)
    one = len(kinds) == 1
    if address.stride != length or not (one or is_contiguous(emitter, kinds, access.offsets)):
        return None
    with ir.scratch_scope():
        spare = ir.take_row(f"[{length * emitter.width} x i8]", CACHE_LINE)
        if access.values is None:
            place = _copy_unless_contiguous(emitter, address, spare, length, access)
            chosen = LaneValue(plain.type, place, plain.stride)
            return (
                access_row(emitter, place, access)
                if one
                else access_interleaved(emitter, chosen, access)
            )
        place = ir.emit(f"select i1 {address.condition}, ptr {plain.scalar}, ptr {spare}")
        if one:
            access_row(emitter, place, access)
        else:
            store_interleaved(emitter, place, kinds[0], access.values)
        _copy_unless_contiguous(emitter, address, spare, length, access)
        return ()


def _copy_unless_contiguous(
    emitter: Emitter, address: LaneValue, spare: str, length: int, access: MemoryAccess
) -> str:
    """Return the address of the lanes' elements: their own row, or a temporary row after a copy."""
    ir = emitter.ir
    start, copying, join = ir.make_name("check"), ir.make_name("else"), ir.make_name("join")
    ir.branch(start)
    ir.start_block(start)
    ir.branch_if(address.condition, join, copying)
    ir.start_block(copying)
    with emitter.conditional_block():
        copy_elements(emitter, address, spare, length, access, rarely=True)
    end = ir.make_name("end")
    ir.branch(end)
    ir.start_block(end)
    ir.branch(join)
    ir.start_block(join)
    if access.values is not None:
        return spare
    return ir.emit(f"phi ptr [ {address.scalar}, %{start} ], [ {spare}, %{end} ]")
