"""Loads and stores, by where the lanes' addresses are."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from metalbench.msl.emission.body import Body, bits_of
from metalbench.msl.emission.lanes import Lanes, Near, put_together, take_apart
from metalbench.msl.emission.one_by_one import memory_text, one_by_one
from metalbench.msl.emission.rows import load_row, store_row
from metalbench.msl.emission.scattered import gather, scatter
from metalbench.msl.emission.wide import load_wide, store_wide
from metalbench.msl.ir.model import Memory
from metalbench.msl.ir.types import Int, Type

Vectors = tuple[str, ...]


def load(body: Body, instruction: Memory) -> Lanes:
    """`load`."""
    address = body.get(instruction.address)
    if body.is_alone and _is_spread(body, instruction):
        return Lanes(instruction.type, _load_spread(body, instruction, address))
    if address.is_uniform:
        return Lanes(instruction.type, body.code.value(_once(body, instruction, [address])))
    if instruction.ordering or instruction.volatile:
        return one_by_one(body, instruction)
    kinds = body.components(instruction.type)
    offsets = body.offsets(instruction.type)
    if instruction.address.text in body.analysed.layout.interleaved:
        offsets = [each * body.width for each in offsets]
    plain = Lanes(address.type, address.scalar, address.stride)
    if address.holds and not body.mask:
        found = _versions(
            body,
            address.holds,
            lambda: _load_near(body, plain, kinds, offsets),
            lambda: _load_apart(body, address, kinds, offsets, rarely=True),
            kinds,
        )
    elif address.is_linear and not address.holds:
        found = _load_near(body, plain, kinds, offsets)
    elif len(kinds) == 1 and not body.mask and not body.is_data(instruction.address):
        first, holds = _in_a_row(body, address, body.layout.size(kinds[0]))
        found = _versions(
            body,
            holds,
            lambda: (load_row(body, first, kinds[0]),),
            lambda: _load_apart(body, address, kinds, offsets),
            kinds,
        )
    else:
        found = _load_apart(body, address, kinds, offsets)
    return Lanes(instruction.type, vectors=found)


def store(body: Body, instruction: Memory) -> None:
    """`store`."""
    value, address = (body.get(each) for each in instruction.operands)
    if body.is_alone and _is_spread(body, instruction):
        _store_spread(body, instruction, value, address)
        return
    if value.is_uniform and address.is_uniform:
        body.code.line(_once(body, instruction, [value, address]))
        return
    if instruction.ordering or instruction.volatile:
        one_by_one(body, instruction)
        return
    kinds, vectors = body.components(value.type), body.vectors(value)
    offsets = body.offsets(value.type)
    if instruction.address.text in body.analysed.layout.interleaved:
        offsets = [each * body.width for each in offsets]
    plain = Lanes(address.type, address.scalar, address.stride)
    if address.is_uniform:
        _store_last(body, address, kinds, offsets, vectors)
    elif address.holds and not body.mask:
        _versions(
            body,
            address.holds,
            lambda: _store_near(body, plain, kinds, offsets, vectors),
            lambda: _store_apart(body, address, kinds, offsets, vectors, rarely=True),
        )
    elif address.is_linear and not address.holds:
        _store_near(body, plain, kinds, offsets, vectors)
    elif len(kinds) == 1 and not body.mask and not body.is_data(instruction.address):
        first, holds = _in_a_row(body, address, body.layout.size(kinds[0]))
        _versions(
            body,
            holds,
            lambda: store_row(body, first, kinds[0], vectors[0]),
            lambda: _store_apart(body, address, kinds, offsets, vectors),
        )
    else:
        _store_apart(body, address, kinds, offsets, vectors)


def _is_spread(body: Body, instruction: Memory) -> bool:
    """Whether one lane's components lie apart, with those of other lanes between them."""
    interleaved = instruction.address.text in body.analysed.layout.interleaved
    return interleaved and len(body.components(instruction.accessed)) > 1


def _load_spread(body: Body, instruction: Memory, address: Lanes) -> str:
    code, type_ = body.code, instruction.type
    parts = []
    for kind, offset in zip(body.components(type_), body.offsets(type_), strict=True):
        place = _moved(body, address, offset * body.width).scalar
        parts.append(code.value(f"load {kind}, ptr {place}, align {body.layout.size(kind)}"))
    return put_together(code, type_, parts, body.layout)


def _store_spread(body: Body, instruction: Memory, value: Lanes, address: Lanes) -> None:
    code, type_ = body.code, instruction.accessed
    parts = take_apart(code, type_, value.scalar, body.layout)
    kinds, offsets = body.components(type_), body.offsets(type_)
    for kind, offset, part in zip(kinds, offsets, parts, strict=True):
        place = _moved(body, address, offset * body.width).scalar
        code.line(f"store {kind} {part}, ptr {place}, align {body.layout.size(kind)}")


def _once(body: Body, instruction: Memory, operands: Sequence[Lanes]) -> str:
    """Of what is one for all lanes. Nothing but what is atomic is known to be aligned."""
    alignment = instruction.alignment
    if not instruction.ordering:
        (kind, *_) = body.components(instruction.accessed)
        alignment = min(alignment, body.layout.size(kind))
    typed = [f"{each.type} {each.scalar}" for each in operands]
    return memory_text(instruction, typed, alignment)


def _moved(body: Body, address: Lanes, offset: int) -> Lanes:
    """So many bytes further."""
    if offset == 0:
        return address
    code, kind = body.code, address.type
    if address.is_linear and not address.holds:
        scalar = code.value(f"getelementptr i8, {kind} {address.scalar}, i64 {offset}")
        return Lanes(kind, scalar, address.stride)
    vector = body.vector(address)
    found = code.value(f"getelementptr i8, {code.lanes(kind)} {vector}, i64 {offset}")
    return Lanes(kind, vectors=(found,))


def _load_near(
    body: Body, address: Lanes, kinds: Sequence[Type], offsets: Sequence[int]
) -> Vectors:
    """From addresses that follow each other."""
    wide = load_wide(body, address, kinds, offsets)
    if wide is not None:
        return wide
    found = []
    for kind, offset in zip(kinds, offsets, strict=True):
        moved = _moved(body, address, offset)
        if moved.stride == body.layout.size(kind):
            found.append(load_row(body, moved.scalar, kind))
        else:
            found += gather(body, [moved], [kind])
    return tuple(found)


def _load_apart(
    body: Body,
    address: Lanes,
    kinds: Sequence[Type],
    offsets: Sequence[int],
    *,
    rarely: bool = False,
) -> Vectors:
    wide = load_wide(body, address, kinds, offsets, rarely=rarely)
    if wide is not None:
        return wide
    addresses = [_moved(body, address, each) for each in offsets]
    return gather(body, addresses, kinds, rarely=rarely)


def _store_near(
    body: Body,
    address: Lanes,
    kinds: Sequence[Type],
    offsets: Sequence[int],
    vectors: Sequence[str],
) -> None:
    if store_wide(body, address, kinds, offsets, vectors):
        return
    for kind, offset, vector in zip(kinds, offsets, vectors, strict=True):
        moved = _moved(body, address, offset)
        if moved.stride == body.layout.size(kind):
            store_row(body, moved.scalar, kind, vector)
        else:
            scatter(body, [moved], [kind], [vector])


def _store_apart(
    body: Body,
    address: Lanes,
    kinds: Sequence[Type],
    offsets: Sequence[int],
    vectors: Sequence[str],
    *,
    rarely: bool = False,
) -> None:
    if store_wide(body, address, kinds, offsets, vectors, rarely=rarely):
        return
    addresses = [_moved(body, address, each) for each in offsets]
    scatter(body, addresses, kinds, vectors, rarely=rarely)


def _store_last(
    body: Body,
    address: Lanes,
    kinds: Sequence[Type],
    offsets: Sequence[int],
    vectors: Sequence[str],
) -> None:
    """All lanes write to one place: the last of them stays."""
    code, bits = body.code, body.code.bits
    last = str(body.width - 1)
    if body.mask:
        above = code.call(f"llvm.ctlz.{bits}", bits, [(bits, bits_of(body)), ("i1", "false")])
        last = code.value(f"sub {bits} {body.width - 1}, {above}")
    for kind, offset, vector in zip(kinds, offsets, vectors, strict=True):
        place = _moved(body, address, offset).scalar
        element = code.value(f"extractelement {code.lanes(kind)} {vector}, {bits} {last}")
        code.line(f"store {kind} {element}, ptr {place}, align {body.layout.size(kind)}")


def _in_a_row(body: Body, address: Lanes, size: int) -> tuple[str, str]:
    """The first lane's address, and whether the others' happen to follow it."""
    code, pointers = body.code, body.code.lanes(address.type)
    if address.near is not None and size % address.near.scale == 0:
        return _index_in_a_row(body, address.near, size // address.near.scale)
    vector = body.vector(address)
    first = code.value(f"extractelement {pointers} {vector}, i64 0")
    row = body.vector(Lanes(address.type, first, size))
    equal = code.value(f"icmp eq {pointers} {vector}, {row}")
    bits = code.value(f"bitcast {code.mask} {equal} to {code.bits}")
    return first, code.value(f"icmp eq {code.bits} {bits}, -1")


def _index_in_a_row(body: Body, near: Near, step: int) -> tuple[str, str]:
    code, indices = body.code, body.code.lanes("i32")
    first = code.value(f"extractelement {indices} {near.index}, i64 0")
    row = body.vector(Lanes(Int(32), first, step))
    equal = code.value(f"icmp eq {indices} {near.index}, {row}")
    bits = code.value(f"bitcast {code.mask} {equal} to {code.bits}")
    same = code.value(f"icmp eq {code.bits} {bits}, -1")
    last = code.value(f"add i32 {first}, {step * (body.width - 1)}")
    relation = "uge" if near.widening == "zext" else "sge"
    grows = code.value(f"icmp {relation} i32 {last}, {first}")
    wide = code.value(f"{near.widening} i32 {first} to i64")
    place = code.value(f"getelementptr [{near.scale} x i8], ptr {near.base}, i64 {wide}")
    return place, code.value(f"and i1 {same}, {grows}")


def _versions(
    body: Body,
    condition: str,
    yes: Callable[[], Vectors | None],
    no: Callable[[], Vectors | None],
    kinds: Sequence[Type] = (),
) -> Vectors:
    """Two ways to do the same; the results of the one that was taken."""
    code = body.code
    near, apart, both = code.fresh("near"), code.fresh("apart"), code.fresh("both")
    code.fork(condition, near, apart)
    found, ends = [], []
    for name, way in ((near, yes), (apart, no)):
        code.label(name)
        with body.arm():
            found.append(way() or ())
        ends.append(code.fresh("end"))
        code.jump(ends[-1])
        code.label(ends[-1])
        code.jump(both)
    code.label(both)
    return tuple(
        code.value(f"phi {code.lanes(kind)} [ {one}, %{ends[0]} ], [ {other}, %{ends[1]} ]")
        for kind, one, other in zip(kinds, *found, strict=True)
    )
