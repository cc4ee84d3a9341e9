"""Memory accesses of lanes: element types, offsets, and stored values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from metalbench.msl.analysis.private_memory import ALIGNMENT
from metalbench.msl.analysis.uniformity import UNIFORM, Affine
from metalbench.msl.ir.model import Alloca, ElementPointer, Value
from metalbench.msl.ir.types import Int, Type
from metalbench.msl.vectorize.body import Emitter
from metalbench.msl.vectorize.lane_values import IndexedAddresses, LaneValue, splat
from metalbench.msl.vectorize.serialize import extract_lane, is_lane_computable

Vectors = tuple[str, ...]


@dataclass(frozen=True)
class MemoryAccess:
    """Elements of the types `kinds`, at `offsets` in bytes from each lane's address.

    `values` are the vectors that a store writes; None for a load. A function that emits an access
    returns the loaded vectors; none for a store.
    """

    kinds: Sequence[Type]
    offsets: Sequence[int]
    values: Vectors | None = None

    @property
    def elements(self) -> list[MemoryAccess]:
        """Each element as a separate access at offset 0."""
        values = [(each,) for each in self.values] if self.values is not None else None
        return [
            MemoryAccess((kind,), (0,), values[at] if values is not None else None)
            for at, kind in enumerate(self.kinds)
        ]

    @property
    def results(self) -> Sequence[Type]:
        """The types of the loaded vectors; none for a store."""
        return self.kinds if self.values is None else ()


def offset_address(emitter: Emitter, address: LaneValue, offset: int) -> LaneValue:
    """Return the address of each lane plus `offset` bytes."""
    if offset == 0:
        return address
    ir, kind = emitter.ir, address.type
    if address.is_affine and not address.condition:
        scalar = ir.emit(f"getelementptr i8, {kind} {address.scalar}, i64 {offset}")
        return LaneValue(kind, scalar, address.stride)
    if address.make_lane is not None:
        return LaneValue(
            kind,
            make_vectors=lambda: (_offset_vector(emitter, address, offset),),
            make_lane=lambda lane: ir.emit(
                f"getelementptr i8, {kind} {extract_lane(emitter, address, [], lane)}, i64 {offset}"
            ),
        )
    return LaneValue(kind, vectors=(_offset_vector(emitter, address, offset),))


def _offset_vector(emitter: Emitter, address: LaneValue, offset: int) -> str:
    ir, kind = emitter.ir, address.type
    vector = emitter.get_vector(address)
    return ir.emit(f"getelementptr i8, {ir.vector_type(kind)} {vector}, i64 {offset}")


# Addresses of elements, and of private memory that is interleaved by lane.

_CACHE_LINE = 64  # bytes of a cache line
_WORD = Int(64)


def emit_getelementptr(emitter: Emitter, pointer: ElementPointer) -> LaneValue:
    """Emit a `getelementptr` as a scalar, an affine address, or a vector of pointers."""
    operands = [emitter.get(each) for each in pointer.operands]
    uniformity = emitter.analysis.uniformity.get(Value(pointer.type, pointer.result))
    if pointer.operands[0].text in emitter.analysis.layout.interleaved:
        return _emit_interleaved(emitter, pointer, operands)
    if all(each.is_uniform for each in operands):
        return LaneValue(pointer.type, _emit_scalar(emitter, pointer, operands, keep_flags=True))
    if uniformity is UNIFORM:  # the operands' strides add up to 0
        return LaneValue(pointer.type, _emit_scalar(emitter, pointer, operands))
    if not isinstance(uniformity, Affine):
        indexed = _make_indexed(emitter, pointer, operands)
        if indexed is not None:
            return LaneValue(pointer.type, indexed=indexed)
        return LaneValue(pointer.type, vectors=(_emit_vector(emitter, pointer, operands),))
    found = LaneValue(pointer.type, _emit_scalar(emitter, pointer, operands), uniformity.stride)
    if uniformity.checked:
        found.condition = _emit_conjunction(
            emitter, [each.condition for each in operands if each.condition]
        )
        found.make_vectors = lambda: (_emit_vector(emitter, pointer, operands),)
        if all(is_lane_computable(each) for each in operands):
            found.make_lane = lambda lane: _emit_for_lane(emitter, pointer, operands, lane)
    return found


def _emit_for_lane(
    emitter: Emitter, pointer: ElementPointer, operands: Sequence[LaneValue], lane: str
) -> str:
    given = ", ".join(f"{each.type} {extract_lane(emitter, each, [], lane)}" for each in operands)
    return emitter.ir.emit(f"getelementptr {pointer.element}, {given}")


def _make_indexed(
    emitter: Emitter, pointer: ElementPointer, operands: Sequence[LaneValue]
) -> IndexedAddresses | None:
    """Return base and 32-bit indices of an address whose only index is extended in this block."""
    base, *indices = operands
    widening = emitter.definitions.get(pointer.operands[-1].text)
    if not base.is_uniform or len(indices) != 1 or widening is None:
        return None
    narrow = widening.operands[0]
    if widening.opcode not in ("zext", "sext") or narrow.type != Int(32):
        return None
    size = emitter.layout.size(pointer.element)
    return IndexedAddresses(
        base.scalar, emitter.get_vector(emitter.get(narrow)), widening.opcode, size
    )


def _emit_conjunction(emitter: Emitter, conditions: Sequence[str]) -> str:
    found = conditions[0] if conditions else "true"
    for each in conditions[1:]:
        found = emitter.ir.emit(f"and i1 {found}, {each}")
    return found


def _emit_scalar(
    emitter: Emitter,
    pointer: ElementPointer,
    operands: Sequence[LaneValue],
    *,
    keep_flags: bool = False,
) -> str:
    flags = "".join(f"{each} " for each in pointer.flags) if keep_flags else ""
    given = ", ".join(f"{each.type} {each.scalar}" for each in operands)
    return emitter.ir.emit(f"getelementptr {flags}{pointer.element}, {given}")


def _emit_vector(emitter: Emitter, pointer: ElementPointer, operands: Sequence[LaneValue]) -> str:
    given = []
    for each in operands:
        if each.is_uniform:
            given.append(f"{each.type} {each.scalar}")
        else:
            given.append(f"{emitter.ir.vector_type(each.type)} {emitter.get_vector(each)}")
    return emitter.ir.emit(f"getelementptr {pointer.element}, {', '.join(given)}")


def _emit_interleaved(
    emitter: Emitter, pointer: ElementPointer, operands: Sequence[LaneValue]
) -> LaneValue:
    """Emit an address in an interleaved variable: offsets are multiplied by the number of lanes."""
    ir, base = emitter.ir, operands[0]
    fixed, inside, moving = 0, pointer.element, []
    for place, index in enumerate(operands[1:]):
        number = pointer.operands[place + 1].integer
        if place:
            offset, inside_next = emitter.layout.member(inside, number or 0)
        else:
            offset, inside_next = (number or 0) * emitter.layout.size(inside), inside
        if number is not None:
            fixed += offset
        else:
            moving.append((index, emitter.layout.size(inside_next) * emitter.width))
        inside = inside_next
    fixed *= emitter.width
    if base.is_affine and all(each.is_affine and not each.condition for each, _ in moving):
        return _emit_interleaved_affine(emitter, base, fixed, moving)
    lanes = ir.vector_type("i64")
    total = splat(ir, _WORD, str(fixed))
    for index, size in moving:
        scaled = ir.emit(f"mul {lanes} {_extend_index(emitter, index)}, splat (i64 {size})")
        total = ir.emit(f"add {lanes} {total}, {scaled}")
    vector = emitter.get_vector(base)
    found = ir.emit(f"getelementptr i8, {ir.vector_type(base.type)} {vector}, {lanes} {total}")
    return LaneValue(base.type, vectors=(found,))


def _emit_interleaved_affine(
    emitter: Emitter, base: LaneValue, fixed: int, moving: Sequence[tuple[LaneValue, int]]
) -> LaneValue:
    ir, found, stride = emitter.ir, base.scalar, base.stride
    for index, size in moving:
        number = index.scalar
        if index.type != _WORD:
            number = ir.emit(f"sext {index.type} {number} to i64")
        scaled = ir.emit(f"mul i64 {number}, {size}")
        found = ir.emit(f"getelementptr i8, {base.type} {found}, i64 {scaled}")
        stride += index.stride * size
    if fixed:
        found = ir.emit(f"getelementptr i8, {base.type} {found}, i64 {fixed}")
    return LaneValue(base.type, found, stride)


def _extend_index(emitter: Emitter, index: LaneValue) -> str:
    vector = emitter.get_vector(index)
    if index.type == _WORD:
        return vector
    ir = emitter.ir
    return ir.emit(f"sext {ir.vector_type(index.type)} {vector} to {ir.vector_type('i64')}")


def emit_alloca(emitter: Emitter, alloca: Alloca) -> LaneValue:
    """Emit an `alloca`, once for all lanes or with one copy per lane."""
    size = emitter.layout.size(alloca.allocated)
    alignment = max(alloca.alignment, ALIGNMENT)
    stride = emitter.analysis.layout.strides.get(alloca.result, 0)
    if stride == 0:
        return LaneValue(alloca.type, emitter.ir.alloca(str(alloca.allocated), alignment))
    whole = -(-size // ALIGNMENT) * ALIGNMENT * emitter.width
    return LaneValue(alloca.type, emitter.ir.alloca(f"[{whole} x i8]", _CACHE_LINE), stride)
