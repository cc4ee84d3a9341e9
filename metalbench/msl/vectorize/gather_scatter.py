"""Gather and scatter: one element per lane at arbitrary addresses."""

from __future__ import annotations

from collections.abc import Sequence

from metalbench.msl.ir.intrinsics import overload_suffix
from metalbench.msl.ir.types import POINTER, Int, Type
from metalbench.msl.vectorize.addresses import MemoryAccess, Vectors
from metalbench.msl.vectorize.body import Emitter, get_mask
from metalbench.msl.vectorize.ir_builder import emit_masked_gather
from metalbench.msl.vectorize.lane_values import IndexedAddresses, LaneValue
from metalbench.msl.vectorize.serialize import (
    LANES_AT_ONCE,
    ROW_ALIGNMENT,
    for_each_lane_group,
    get_storage_type,
    map_lanes,
)

_WORD = 4  # bytes
_INT = Int(8 * _WORD)


def access_scattered(
    emitter: Emitter, addresses: Sequence[LaneValue], access: MemoryAccess, *, rarely: bool = False
) -> Vectors:
    """Load or store each element at a separate address; with little code if it runs `rarely`.

    Stores are in the order of the lanes: at equal addresses the last lane's value stays.
    """
    if _needs_loop(emitter, access, rarely=rarely):
        return _access_lane_by_lane(emitter, addresses, access)
    found: Vectors = ()
    for address, element in zip(addresses, access.elements, strict=True):
        if element.values is None:
            found += (_emit_gather(emitter, address, element.kinds[0]),)
        else:
            _emit_scatter(emitter, address, element.kinds[0], element.values[0])
    return found


def _access_lane_by_lane(
    emitter: Emitter, addresses: Sequence[LaneValue], access: MemoryAccess
) -> Vectors:
    kinds = access.kinds

    def run(given: Sequence[str]) -> Sequence[str]:
        ir, found = emitter.ir, []
        for at, (kind, place) in enumerate(zip(kinds, given, strict=False)):
            size = emitter.layout.size(kind)
            if access.values is None:
                found.append(ir.emit(f"load {kind}, ptr {place}, align {size}"))
            else:
                ir.emit_void(f"store {kind} {given[len(kinds) + at]}, ptr {place}, align {size}")
        return found

    values = [
        LaneValue(kind, vectors=(vector,))
        for kind, vector in zip(kinds, access.values or (), strict=False)
    ]
    return map_lanes(emitter, [*addresses, *values], access.results, run)


def _needs_loop(emitter: Emitter, access: MemoryAccess, *, rarely: bool) -> bool:
    if any(get_storage_type(each) != each for each in access.kinds):
        return True
    has_instruction = all(
        emitter.target.has_gather_scatter(emitter.layout.size(each)) for each in access.kinds
    )
    return not has_instruction and (bool(emitter.mask) or rarely)


def _emit_gather(emitter: Emitter, address: LaneValue, kind: Type) -> str:
    ir, size = emitter.ir, emitter.layout.size(kind)
    if not emitter.target.has_gather_scatter(max(size, _WORD)):
        return _gather_in_loop(emitter, address, kind)
    if size < _WORD:
        return _emit_gather_of_words(emitter, address, kind)
    return emit_masked_gather(
        ir, kind, emitter.get_vector(address), get_mask(emitter), "poison", size
    )


def _emit_gather_of_words(emitter: Emitter, address: LaneValue, kind: Type) -> str:
    """Gather elements smaller than a word as parts of aligned words.

    An aligned word is in one page: if one of its bytes can be read, all can. The addresses are
    converted from integers, so that LLVM does not derive bounds of an object from them.
    """
    ir, size = emitter.ir, emitter.layout.size(kind)
    wide, words = ir.vector_type("i64"), ir.vector_type(_INT)
    number = ir.emit(f"ptrtoint {ir.vector_type('ptr')} {emitter.get_vector(address)} to {wide}")
    aligned = ir.emit(f"and {wide} {number}, splat (i64 {-_WORD})")
    places = ir.emit(f"inttoptr {wide} {aligned} to {ir.vector_type('ptr')}")
    found = emit_masked_gather(ir, _INT, places, get_mask(emitter), "poison", _WORD)
    low = ir.emit(f"trunc {wide} {number} to {words}")
    byte = ir.emit(f"and {words} {low}, splat (i32 {_WORD - size})")
    bits = ir.emit(f"shl {words} {byte}, splat (i32 3)")
    moved = ir.emit(f"lshr {words} {found}, {bits}")
    part = Int(8 * size)
    element = ir.emit(f"trunc {words} {moved} to {ir.vector_type(part)}")
    if kind == part:
        return element
    return ir.emit(f"bitcast {ir.vector_type(part)} {element} to {ir.vector_type(kind)}")


def _emit_scatter(emitter: Emitter, address: LaneValue, kind: Type, vector: str) -> None:
    ir, lanes, size = emitter.ir, emitter.ir.vector_type(kind), emitter.layout.size(kind)
    if not emitter.target.has_gather_scatter(size):
        _scatter_in_loop(emitter, address, kind, vector)
        return
    arguments = [
        (lanes, vector),
        (ir.vector_type("ptr"), emitter.get_vector(address)),
        ("i32", str(size)),
        (ir.mask_type, get_mask(emitter)),
    ]
    name = f"llvm.masked.scatter.v{emitter.width}{overload_suffix(kind)}.v{emitter.width}p0"
    ir.call(name, "void", arguments)


def _gather_in_loop(emitter: Emitter, address: LaneValue, kind: Type) -> str:
    """Gather with all lanes active, some lanes per iteration."""
    ir, size, some = emitter.ir, emitter.layout.size(kind), min(LANES_AT_ONCE, emitter.width)
    part = f"<{some} x {kind}>"
    with ir.scratch_scope():
        result = ir.take_row(ir.vector_type(kind), ROW_ALIGNMENT)

        def run(first: str, places: Sequence[str]) -> None:
            found = "poison"
            for at, place in enumerate(places):
                one = ir.emit(f"load {kind}, ptr {place}, align {size}")
                found = ir.emit(f"insertelement {part} {found}, {kind} {one}, i64 {at}")
            target = ir.emit(f"getelementptr {kind}, ptr {result}, i64 {first}")
            ir.emit_void(f"store {part} {found}, ptr {target}, align {size}")

        for_each_lane_group(emitter, address, run)
        return ir.emit(f"load {ir.vector_type(kind)}, ptr {result}, align {ROW_ALIGNMENT}")


def _scatter_in_loop(emitter: Emitter, address: LaneValue, kind: Type, vector: str) -> None:
    ir, size, some = emitter.ir, emitter.layout.size(kind), min(LANES_AT_ONCE, emitter.width)
    part = f"<{some} x {kind}>"
    with ir.scratch_scope():
        values = ir.take_row(ir.vector_type(kind), ROW_ALIGNMENT)
        ir.emit_void(f"store {ir.vector_type(kind)} {vector}, ptr {values}, align {ROW_ALIGNMENT}")

        def run(first: str, places: Sequence[str]) -> None:
            source = ir.emit(f"getelementptr {kind}, ptr {values}, i64 {first}")
            whole = ir.emit(f"load {part}, ptr {source}, align {size}")
            for at, place in enumerate(places):
                one = ir.emit(f"extractelement {part} {whole}, i64 {at}")
                ir.emit_void(f"store {kind} {one}, ptr {place}, align {size}")

        for_each_lane_group(emitter, address, run)


# Contiguous accesses: one element per lane in a row.


def access_row(emitter: Emitter, first: str, access: MemoryAccess) -> Vectors:
    """Load or store one element of every lane, from the address of lane 0."""
    (kind,) = access.kinds
    ir, lanes, size = emitter.ir, emitter.ir.vector_type(kind), emitter.layout.size(kind)
    if emitter.mask and not emitter.target.has_masked_access(size):
        return access_scattered(emitter, [LaneValue(POINTER, first, size)], access)
    active = [("ptr", first), ("i32", str(size)), (ir.mask_type, emitter.mask)]
    of = f"v{emitter.width}{overload_suffix(kind)}.p0" if emitter.mask else ""
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
