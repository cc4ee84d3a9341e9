"""Elements that follow each other in memory, one for each lane."""

from __future__ import annotations

from metalbench.msl.emission.access import Access, Vectors
from metalbench.msl.emission.body import Body
from metalbench.msl.emission.code import suffix
from metalbench.msl.emission.lanes import Lanes, Near
from metalbench.msl.emission.scattered import scattered
from metalbench.msl.ir.types import POINTER, Int


def row(body: Body, first: str, access: Access) -> Vectors:
    """Read or write one element of every lane, from the first one's address."""
    (kind,) = access.kinds
    code, lanes, size = body.code, body.code.lanes(kind), body.layout.size(kind)
    if body.mask and not body.machine.masks(size):
        return scattered(body, [Lanes(POINTER, first, size)], access)
    active = [("ptr", first), ("i32", str(size)), (code.mask, body.mask)]
    of = f"v{body.width}{suffix(kind)}.p0" if body.mask else ""
    if access.values is None:
        if not body.mask:
            return (code.value(f"load {lanes}, ptr {first}, align {size}"),)
        return (code.call(f"llvm.masked.load.{of}", lanes, [*active, (lanes, "poison")]),)
    if not body.mask:
        code.line(f"store {lanes} {access.values[0]}, ptr {first}, align {size}")
    else:
        code.call(f"llvm.masked.store.{of}", "void", [(lanes, access.values[0]), *active])
    return ()


def happens_to_be(body: Body, address: Lanes, size: int) -> tuple[str, str]:
    """The first lane's address, and whether the others' follow it, `size` bytes apart."""
    code, pointers = body.code, body.code.lanes(address.type)
    if address.near is not None and size % address.near.scale == 0:
        return _index_happens_to_be(body, address.near, size // address.near.scale)
    vector = body.vector(address)
    first = code.value(f"extractelement {pointers} {vector}, i64 0")
    follows = body.vector(Lanes(address.type, first, size))
    equal = code.value(f"icmp eq {pointers} {vector}, {follows}")
    return first, code.value(f"icmp eq {code.bits} {code.number(equal)}, -1")


def _index_happens_to_be(body: Body, near: Near, step: int) -> tuple[str, str]:
    code, numbers = body.code, body.code.lanes("i32")
    first = code.value(f"extractelement {numbers} {near.indices}, i64 0")
    follows = body.vector(Lanes(Int(32), first, step))
    equal = code.value(f"icmp eq {numbers} {near.indices}, {follows}")
    same = code.value(f"icmp eq {code.bits} {code.number(equal)}, -1")
    last = code.value(f"add i32 {first}, {step * (body.width - 1)}")
    relation = "uge" if near.widening == "zext" else "sge"
    grows = code.value(f"icmp {relation} i32 {last}, {first}")
    wide = code.value(f"{near.widening} i32 {first} to i64")
    place = code.value(f"getelementptr [{near.scale} x i8], ptr {near.base}, i64 {wide}")
    return place, code.value(f"and i1 {same}, {grows}")
