"""Memory accesses of lanes: element types, offsets, and stored values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from metalbench.msl.emission.body import Emitter
from metalbench.msl.emission.lanes import LaneValue
from metalbench.msl.emission.one_by_one import extract_lane
from metalbench.msl.ir.types import Type

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
