"""Loads and stores, by where the lanes' addresses are."""

from __future__ import annotations

from collections.abc import Sequence

from metalbench.msl.emission.access import Access, Vectors, moved
from metalbench.msl.emission.body import Body, bits_of
from metalbench.msl.emission.checked import checked
from metalbench.msl.emission.lanes import Lanes
from metalbench.msl.emission.one_by_one import memory_text, one_by_one, stored
from metalbench.msl.emission.rows import happens_to_be, row
from metalbench.msl.emission.scattered import scattered
from metalbench.msl.emission.versions import versions
from metalbench.msl.emission.wide import wide
from metalbench.msl.ir.model import Memory


def load(body: Body, instruction: Memory) -> Lanes:
    """`load`."""
    address = body.get(instruction.address)
    access = _access(body, instruction)
    if body.is_alone and _is_spread(body, instruction):
        return Lanes(instruction.type, _load_spread(body, instruction, address, access))
    if address.is_uniform:
        return Lanes(instruction.type, body.code.value(_once(body, instruction, [address])))
    if instruction.ordering or instruction.volatile:
        return one_by_one(body, instruction)
    vectors = _reach(body, address, access, happens=_may_happen(body, instruction))
    return Lanes(instruction.type, vectors=vectors)


def store(body: Body, instruction: Memory) -> None:
    """`store`."""
    value, address = (body.get(each) for each in instruction.operands)
    if body.is_alone and _is_spread(body, instruction):
        parts = tuple(body.take_apart(value.type, value.scalar))
        _store_spread(body, address, _access(body, instruction, parts))
    elif value.is_uniform and address.is_uniform:
        body.code.line(_once(body, instruction, [value, address]))
    elif instruction.ordering or instruction.volatile:
        one_by_one(body, instruction)
    elif address.is_uniform:
        _store_last(body, address, _access(body, instruction, body.vectors(value)))
    else:
        access = _access(body, instruction, body.vectors(value))
        _reach(body, address, access, happens=_may_happen(body, instruction))


def _access(body: Body, instruction: Memory, values: Vectors | None = None) -> Access:
    offsets = body.offsets(instruction.accessed)
    if instruction.address.text in body.analysis.layout.interleaved:
        offsets = [each * body.width for each in offsets]
    return Access(body.components(instruction.accessed), offsets, values)


def _may_happen(body: Body, instruction: Memory) -> bool:
    """Whether it is worth looking if lanes access a row by chance."""
    one = len(body.components(instruction.accessed)) == 1
    return one and not body.mask and not body.is_data(instruction.address)


def _reach(body: Body, address: Lanes, access: Access, *, happens: bool) -> Vectors:
    """An access at addresses that differ."""
    if any(stored(kind) != kind for kind in access.kinds):  # no row in memory is a vector of them
        return scattered(body, [moved(body, address, each) for each in access.offsets], access)
    plain = Lanes(address.type, address.scalar, address.stride)
    if address.holds and not body.mask:
        found = checked(body, address, access)
        if found is not None:
            return found
        return versions(
            body,
            address.holds,
            lambda: _near(body, plain, access),
            lambda: _apart(body, address, access, rarely=True),
            access.results,
        )
    if address.is_linear and not address.holds:
        return _near(body, plain, access)
    if not happens:
        return _apart(body, address, access)
    first, holds = happens_to_be(body, address, body.layout.size(access.kinds[0]))
    return versions(
        body,
        holds,
        lambda: row(body, first, access),
        lambda: _apart(body, address, access),
        access.results,
    )


def _near(body: Body, address: Lanes, access: Access) -> Vectors:
    """At addresses that follow each other."""
    found = wide(body, address, access)
    if found is not None:
        return found
    found = ()
    for element, offset in zip(access.elements, access.offsets, strict=True):
        here = moved(body, address, offset)
        if here.stride == body.layout.size(element.kinds[0]):
            found += row(body, here.scalar, element)
        else:
            found += scattered(body, [here], element)
    return found


def _apart(body: Body, address: Lanes, access: Access, *, rarely: bool = False) -> Vectors:
    """At addresses that are anywhere."""
    found = wide(body, address, access, rarely=rarely)
    if found is not None:
        return found
    addresses = [moved(body, address, each) for each in access.offsets]
    return scattered(body, addresses, access, rarely=rarely)


def _is_spread(body: Body, instruction: Memory) -> bool:
    """Whether one lane's components lie apart, with those of other lanes between them."""
    interleaved = instruction.address.text in body.analysis.layout.interleaved
    return interleaved and len(body.components(instruction.accessed)) > 1


def _load_spread(body: Body, instruction: Memory, address: Lanes, access: Access) -> str:
    parts = []
    for kind, offset in zip(access.kinds, access.offsets, strict=True):
        place, size = moved(body, address, offset).scalar, body.layout.size(kind)
        parts.append(body.code.value(f"load {kind}, ptr {place}, align {size}"))
    return body.put_together(instruction.type, parts)


def _store_spread(body: Body, address: Lanes, access: Access) -> None:
    """The components of one lane's value, each where it is."""
    for kind, offset, part in zip(access.kinds, access.offsets, access.values or (), strict=True):
        place, size = moved(body, address, offset).scalar, body.layout.size(kind)
        body.code.line(f"store {kind} {part}, ptr {place}, align {size}")


def _once(body: Body, instruction: Memory, operands: Sequence[Lanes]) -> str:
    """Of what is one for all lanes. Nothing but what is atomic is known to be aligned."""
    alignment = instruction.alignment
    if not instruction.ordering:
        (kind, *_) = body.components(instruction.accessed)
        alignment = min(alignment, body.layout.size(kind))
    typed = [f"{each.type} {each.scalar}" for each in operands]
    return memory_text(instruction, typed, alignment)


def _store_last(body: Body, address: Lanes, access: Access) -> None:
    """All lanes write to one place: the last of them stays."""
    code, bits = body.code, body.code.bits
    last = str(body.width - 1)
    if body.mask:
        above = code.call(f"llvm.ctlz.{bits}", bits, [(bits, bits_of(body)), ("i1", "false")])
        last = code.value(f"sub {bits} {body.width - 1}, {above}")
    for kind, offset, vector in zip(access.kinds, access.offsets, access.values or (), strict=True):
        place, size = moved(body, address, offset).scalar, body.layout.size(kind)
        element = code.value(f"extractelement {code.lanes(kind)} {vector}, {bits} {last}")
        code.line(f"store {kind} {element}, ptr {place}, align {size}")
