"""Contiguous accesses: one element per lane in a row."""

from __future__ import annotations

from metalbench.msl.emission.access import MemoryAccess, Vectors
from metalbench.msl.emission.body import Emitter
from metalbench.msl.emission.code import get_overload_suffix
from metalbench.msl.emission.lanes import IndexedAddresses, LaneValue
from metalbench.msl.emission.scattered import access_scattered
from metalbench.msl.ir.types import POINTER, Int


def access_row(emitter: Emitter, first: str, access: MemoryAccess) -> Vectors:
    """Load or store one element of every lane, from the address of lane 0."""
    (kind,) = access.kinds
    ir, lanes, size = emitter.ir, emitter.ir.vector_type(kind), emitter.layout.size(kind)
    if emitter.mask and not emitter.target.has_masked_access(size):
        return access_scattered(emitter, [LaneValue(POINTER, first, size)], access)
    active = [("ptr", first), ("i32", str(size)), (ir.mask_type, emitter.mask)]
    of = f"v{emitter.width}{get_overload_suffix(kind)}.p0" if emitter.mask else ""
    if access.values is None:
        if not emitter.mask:
            return (ir.emit(f"load {lanes}, ptr {first}, align {size}"),)
        return (ir.call(f"llvm.masked.load.{of}", lanes, [*active, (lanes, "poison")]),)
    if not emitter.mask:
        ir.emit_void(f"store {lanes} {access.values[0]}, ptr {first}, align {size}")
    else:
        ir.call(f"llvm.masked.store.{of}", "void", [(lanes, access.values[0]), *active])
    return ()


def emit_contiguity_test(emitter: Emitter, address: LaneValue, size: int) -> tuple[str, str]:
    """Return lane 0's address, and whether the addresses have a stride of `size` bytes."""
    ir, pointers = emitter.ir, emitter.ir.vector_type(address.type)
    if address.indexed is not None and size % address.indexed.scale == 0:
        return _emit_index_contiguity_test(emitter, address.indexed, size // address.indexed.scale)
    vector = emitter.get_vector(address)
    first = ir.emit(f"extractelement {pointers} {vector}, i64 0")
    follows = emitter.get_vector(LaneValue(address.type, first, size))
    equal = ir.emit(f"icmp eq {pointers} {vector}, {follows}")
    return first, ir.emit(f"icmp eq {ir.bits_type} {ir.mask_to_bits(equal)}, -1")


def _emit_index_contiguity_test(
    emitter: Emitter, indexed: IndexedAddresses, step: int
) -> tuple[str, str]:
    ir, numbers = emitter.ir, emitter.ir.vector_type("i32")
    first = ir.emit(f"extractelement {numbers} {indexed.indices}, i64 0")
    follows = emitter.get_vector(LaneValue(Int(32), first, step))
    equal = ir.emit(f"icmp eq {numbers} {indexed.indices}, {follows}")
    same = ir.emit(f"icmp eq {ir.bits_type} {ir.mask_to_bits(equal)}, -1")
    last = ir.emit(f"add i32 {first}, {step * (emitter.width - 1)}")
    relation = "uge" if indexed.widening == "zext" else "sge"
    grows = ir.emit(f"icmp {relation} i32 {last}, {first}")
    wide = ir.emit(f"{indexed.widening} i32 {first} to i64")
    place = ir.emit(f"getelementptr [{indexed.scale} x i8], ptr {indexed.base}, i64 {wide}")
    return place, ir.emit(f"and i1 {same}, {grows}")
