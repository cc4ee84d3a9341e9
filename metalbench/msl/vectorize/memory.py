"""Two versions of code, one of which is chosen at run time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from metalbench.msl.ir.model import Memory
from metalbench.msl.ir.types import Type
from metalbench.msl.vectorize.addresses import MemoryAccess, Vectors, offset_address
from metalbench.msl.vectorize.body import Emitter, emit_mask_bits
from metalbench.msl.vectorize.gather_scatter import (
    access_row,
    access_scattered,
    emit_contiguity_test,
)
from metalbench.msl.vectorize.interleaved_access import access_checked_row, access_interleaved
from metalbench.msl.vectorize.lane_values import LaneValue
from metalbench.msl.vectorize.serialize import (
    emit_serialized,
    format_memory_access,
    get_storage_type,
)


def emit_versions(
    emitter: Emitter,
    condition: str,
    yes: Callable[[], tuple[str, ...]],
    no: Callable[[], tuple[str, ...]],
    kinds: Sequence[Type],
) -> tuple[str, ...]:
    """Emit both versions, and return the vectors of types `kinds` of the one that ran."""
    ir = emitter.ir
    then, otherwise, join = ir.make_name("then"), ir.make_name("else"), ir.make_name("join")
    ir.branch_if(condition, then, otherwise)
    found, ends = [], []
    for name, emit in ((then, yes), (otherwise, no)):
        ir.start_block(name)
        with emitter.conditional_block():
            found.append(emit())
        ends.append(ir.make_name("end"))
        ir.branch(ends[-1])
        ir.start_block(ends[-1])
        ir.branch(join)
    ir.start_block(join)
    return tuple(
        ir.emit(f"phi {ir.vector_type(kind)} [ {one}, %{ends[0]} ], [ {other}, %{ends[1]} ]")
        for kind, one, other in zip(kinds, *found, strict=True)
    )


# Loads and stores, by the uniformity of their addresses.


def emit_load(emitter: Emitter, instruction: Memory) -> LaneValue:
    """Emit a `load`."""
    address = emitter.get(instruction.address)
    access = _make_access(emitter, instruction)
    if emitter.is_scalar and _is_interleaved_aggregate(emitter, instruction):
        return LaneValue(instruction.type, _load_components(emitter, instruction, address, access))
    if address.is_uniform:
        return LaneValue(
            instruction.type,
            emitter.ir.emit(_format_uniform_access(emitter, instruction, [address])),
        )
    if instruction.ordering or instruction.volatile:
        return emit_serialized(emitter, instruction)
    vectors = _access_varying(
        emitter, address, access, speculate=_may_be_contiguous(emitter, instruction)
    )
    return LaneValue(instruction.type, vectors=vectors)


def emit_store(emitter: Emitter, instruction: Memory) -> None:
    """Emit a `store`."""
    value, address = (emitter.get(each) for each in instruction.operands)
    if emitter.is_scalar and _is_interleaved_aggregate(emitter, instruction):
        parts = tuple(emitter.split_components(value.type, value.scalar))
        _store_components(emitter, address, _make_access(emitter, instruction, parts))
    elif value.is_uniform and address.is_uniform:
        emitter.ir.emit_void(_format_uniform_access(emitter, instruction, [value, address]))
    elif instruction.ordering or instruction.volatile:
        emit_serialized(emitter, instruction)
    elif address.is_uniform:
        _store_last_lane(
            emitter, address, _make_access(emitter, instruction, emitter.get_vectors(value))
        )
    else:
        access = _make_access(emitter, instruction, emitter.get_vectors(value))
        _access_varying(
            emitter, address, access, speculate=_may_be_contiguous(emitter, instruction)
        )


def _make_access(
    emitter: Emitter, instruction: Memory, values: Vectors | None = None
) -> MemoryAccess:
    offsets = emitter.list_offsets(instruction.accessed)
    if instruction.address.text in emitter.analysis.layout.interleaved:
        offsets = [each * emitter.width for each in offsets]
    return MemoryAccess(emitter.list_components(instruction.accessed), offsets, values)


def _may_be_contiguous(emitter: Emitter, instruction: Memory) -> bool:
    """Return whether to test at run time if varying addresses are contiguous."""
    one = len(emitter.list_components(instruction.accessed)) == 1
    return one and not emitter.mask and not emitter.is_load_dependent(instruction.address)


def _access_varying(
    emitter: Emitter, address: LaneValue, access: MemoryAccess, *, speculate: bool
) -> Vectors:
    """Emit an access at addresses that differ by lane."""
    # LLVM packs vectors of such elements by bits.
    if any(get_storage_type(kind) != kind for kind in access.kinds):
        return access_scattered(
            emitter, [offset_address(emitter, address, each) for each in access.offsets], access
        )
    plain = LaneValue(address.type, address.scalar, address.stride)
    if address.condition and not emitter.mask:
        found = access_checked_row(emitter, address, access)
        if found is not None:
            return found
        return emit_versions(
            emitter,
            address.condition,
            lambda: _access_affine(emitter, plain, access),
            lambda: _access_scattered(emitter, address, access, rarely=True),
            access.results,
        )
    if address.is_affine and not address.condition:
        return _access_affine(emitter, plain, access)
    if not speculate:
        return _access_scattered(emitter, address, access)
    first, is_contiguous = emit_contiguity_test(
        emitter, address, emitter.layout.size(access.kinds[0])
    )
    return emit_versions(
        emitter,
        is_contiguous,
        lambda: access_row(emitter, first, access),
        lambda: _access_scattered(emitter, address, access),
        access.results,
    )


def _access_affine(emitter: Emitter, address: LaneValue, access: MemoryAccess) -> Vectors:
    """Emit an access at affine addresses."""
    found = access_interleaved(emitter, address, access)
    if found is not None:
        return found
    found = ()
    for element, offset in zip(access.elements, access.offsets, strict=True):
        here = offset_address(emitter, address, offset)
        if here.stride == emitter.layout.size(element.kinds[0]):
            found += access_row(emitter, here.scalar, element)
        else:
            found += access_scattered(emitter, [here], element)
    return found


def _access_scattered(
    emitter: Emitter, address: LaneValue, access: MemoryAccess, *, rarely: bool = False
) -> Vectors:
    """Emit an access at arbitrary addresses."""
    found = access_interleaved(emitter, address, access, rarely=rarely)
    if found is not None:
        return found
    addresses = [offset_address(emitter, address, each) for each in access.offsets]
    return access_scattered(emitter, addresses, access, rarely=rarely)


def _is_interleaved_aggregate(emitter: Emitter, instruction: Memory) -> bool:
    """Return whether elements of other lanes are between the components of one lane."""
    interleaved = instruction.address.text in emitter.analysis.layout.interleaved
    return interleaved and len(emitter.list_components(instruction.accessed)) > 1


def _load_components(
    emitter: Emitter, instruction: Memory, address: LaneValue, access: MemoryAccess
) -> str:
    parts = []
    for kind, offset in zip(access.kinds, access.offsets, strict=True):
        place, size = offset_address(emitter, address, offset).scalar, emitter.layout.size(kind)
        parts.append(emitter.ir.emit(f"load {kind}, ptr {place}, align {size}"))
    return emitter.build_aggregate(instruction.type, parts)


def _store_components(emitter: Emitter, address: LaneValue, access: MemoryAccess) -> None:
    """Store each component of one lane's value at its offset."""
    for kind, offset, part in zip(access.kinds, access.offsets, access.values or (), strict=True):
        place, size = offset_address(emitter, address, offset).scalar, emitter.layout.size(kind)
        emitter.ir.emit_void(f"store {kind} {part}, ptr {place}, align {size}")


def _format_uniform_access(
    emitter: Emitter, instruction: Memory, operands: Sequence[LaneValue]
) -> str:
    """Return one access for all lanes; only an atomic one is known to be aligned."""
    alignment = instruction.alignment
    if not instruction.ordering:
        (kind, *_) = emitter.list_components(instruction.accessed)
        alignment = min(alignment, emitter.layout.size(kind))
    typed = [f"{each.type} {each.scalar}" for each in operands]
    return format_memory_access(instruction, typed, alignment)


def _store_last_lane(emitter: Emitter, address: LaneValue, access: MemoryAccess) -> None:
    """Store the value of the last active lane at an address that all lanes share."""
    ir, bits = emitter.ir, emitter.ir.bits_type
    last = str(emitter.width - 1)
    if emitter.mask:
        above = ir.call(
            f"llvm.ctlz.{bits}", bits, [(bits, emit_mask_bits(emitter)), ("i1", "false")]
        )
        last = ir.emit(f"sub {bits} {emitter.width - 1}, {above}")
    for kind, offset, vector in zip(access.kinds, access.offsets, access.values or (), strict=True):
        place, size = offset_address(emitter, address, offset).scalar, emitter.layout.size(kind)
        element = ir.emit(f"extractelement {ir.vector_type(kind)} {vector}, {bits} {last}")
        ir.emit_void(f"store {kind} {element}, ptr {place}, align {size}")
