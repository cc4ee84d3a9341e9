"""Live-in and live-out buffers: memory that passes values to and from a scalar region."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from metalbench.msl.emission.body import Emitter
from metalbench.msl.emission.lanes import IndexedAddresses, LaneValue
from metalbench.msl.emission.one_by_one import (
    convert_to_storage,
    extract_affine_lane,
    get_storage_type,
    load_element,
    load_indexed_address,
)
from metalbench.msl.ir.types import POINTER, Int, Type

_ALIGNMENT = 16  # bytes
_INDEX = Int(32)


@dataclass(frozen=True)
class LiveIn:
    """Location of a live-in: the offsets of a vector per component, or of one scalar.

    `scalar` is a scalar that needs no memory; `offset` is None then. For indexed addresses it is
    the base, and the vector holds the indices.
    """

    lanes: LaneValue
    row_offsets: tuple[int, ...] = ()
    offset: int | None = None
    scalar: str = ""

    def load(self, emitter: Emitter, memory: str, lane: str) -> str:
        """Return the value of one lane."""
        ir, lanes = emitter.ir, self.lanes
        rows = [ir.emit(f"getelementptr i8, ptr {memory}, i64 {each}") for each in self.row_offsets]
        one, type_ = self.scalar, POINTER if lanes.indexed is not None else lanes.type
        if self.offset is not None:
            place = ir.emit(f"getelementptr i8, ptr {memory}, i64 {self.offset}")
            one = ir.emit(f"load {type_}, ptr {place}, align {_ALIGNMENT}")
        if lanes.indexed is not None:
            indexed = lanes.indexed
            return load_indexed_address(
                emitter, IndexedAddresses(one, "", indexed.widening, indexed.scale), rows[0], lane
            )
        if rows:
            kinds = emitter.list_components(lanes.type)
            parts = [load_element(emitter, *each, lane) for each in zip(kinds, rows, strict=True)]
            return emitter.build_aggregate(lanes.type, parts)
        return (
            extract_affine_lane(emitter, LaneValue(type_, one, lanes.stride), lane)
            if lanes.stride
            else one
        )


class LiveInBuffer:
    """Allocates and stores values in a buffer. Names in `known` are visible in the region."""

    def __init__(self, emitter: Emitter, memory: str, known: Collection[str]) -> None:
        self._emitter = emitter
        self._memory = memory
        self._known = known
        self.bytes = 0

    def allocate_vector(self, kind: Type) -> int:
        """Return the offset of a new vector of all lanes."""
        return self._allocate(
            self._emitter.width * self._emitter.layout.size(get_storage_type(kind))
        )

    def store(self, lanes: LaneValue) -> LiveIn:
        """Store a value, and return its location."""
        emitter, ir = self._emitter, self._emitter.ir
        if lanes.indexed is not None:
            row = self._store_vector(_INDEX, lanes.indexed.indices)
            base = self._store_scalar(LaneValue(POINTER, lanes.indexed.base))
            return LiveIn(lanes, (row,), base.offset, base.scalar)
        if lanes.is_affine and not lanes.condition:
            return self._store_scalar(lanes)
        kinds, vectors = emitter.list_components(lanes.type), emitter.get_vectors(lanes)
        rows = [
            self._store_vector(get_storage_type(kind), convert_to_storage(ir, kind, vector))
            for kind, vector in zip(kinds, vectors, strict=True)
        ]
        return LiveIn(LaneValue(lanes.type), tuple(rows))

    def _store_scalar(self, lanes: LaneValue) -> LiveIn:
        scalar = lanes.scalar
        if not scalar.startswith("%") or scalar in self._known:
            return LiveIn(lanes, scalar=scalar)
        at = self._allocate(self._emitter.layout.size(lanes.type))
        self._store(str(lanes.type), scalar, at)
        return LiveIn(lanes, offset=at)

    def _store_vector(self, kind: Type, vector: str) -> int:
        at = self.allocate_vector(kind)
        self._store(self._emitter.ir.vector_type(kind), vector, at)
        return at

    def _store(self, type_: str, value: str, at: int) -> None:
        ir = self._emitter.ir
        place = ir.emit(f"getelementptr i8, ptr {self._memory}, i64 {at}")
        ir.emit_void(f"store {type_} {value}, ptr {place}, align {_ALIGNMENT}")

    def _allocate(self, size: int) -> int:
        at = self.bytes
        self.bytes += -(-size // _ALIGNMENT) * _ALIGNMENT
        return at
