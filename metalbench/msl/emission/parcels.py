"""What lanes bring to a function of theirs: each value in the form that it has, in memory."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from metalbench.msl.emission.body import Body
from metalbench.msl.emission.lanes import Lanes, Near
from metalbench.msl.emission.one_by_one import from_lane, lying, of_index, stored, taken
from metalbench.msl.ir.types import POINTER, Int, Type

_ALIGNMENT = 16  # bytes
_INDEX = Int(32)


@dataclass(frozen=True)
class Parcel:
    """Where a value's parts lie: of each component a row of lanes, or what is one for all.

    `scalar` is that one where it is known without looking; `at` is empty then. Of addresses near
    each other it is their base, and the row has their indices.
    """

    lanes: Lanes
    rows: tuple[int, ...] = ()
    at: int | None = None
    scalar: str = ""

    def open(self, body: Body, memory: str, lane: str) -> str:
        """A lane's value, read back."""
        code, lanes = body.code, self.lanes
        rows = [code.value(f"getelementptr i8, ptr {memory}, i64 {each}") for each in self.rows]
        one, type_ = self.scalar, POINTER if lanes.near is not None else lanes.type
        if self.at is not None:
            place = code.value(f"getelementptr i8, ptr {memory}, i64 {self.at}")
            one = code.value(f"load {type_}, ptr {place}, align {_ALIGNMENT}")
        if lanes.near is not None:
            near = lanes.near
            return of_index(body, Near(one, "", near.widening, near.scale), rows[0], lane)
        if rows:
            kinds = body.components(lanes.type)
            parts = [taken(body, *each, lane) for each in zip(kinds, rows, strict=True)]
            return body.put_together(lanes.type, parts)
        return from_lane(body, Lanes(type_, one, lanes.stride), lane) if lanes.stride else one


class Parcels:
    """Puts values side by side in memory; names that are `known` on the other side stay names."""

    def __init__(self, body: Body, memory: str, known: Collection[str]) -> None:
        self._body = body
        self._memory = memory
        self._known = known
        self.bytes = 0

    def room(self, kind: Type) -> int:
        """Where a row of elements of all lanes has its place."""
        return self._take(self._body.width * self._body.layout.size(stored(kind)))

    def send(self, lanes: Lanes) -> Parcel:
        """Leave a value there."""
        body, code = self._body, self._body.code
        if lanes.near is not None:
            row = self._row(_INDEX, lanes.near.indices)
            base = self._one(Lanes(POINTER, lanes.near.base))
            return Parcel(lanes, (row,), base.at, base.scalar)
        if lanes.is_linear and not lanes.holds:
            return self._one(lanes)
        kinds, vectors = body.components(lanes.type), body.vectors(lanes)
        rows = [
            self._row(stored(kind), lying(code, kind, vector))
            for kind, vector in zip(kinds, vectors, strict=True)
        ]
        return Parcel(Lanes(lanes.type), tuple(rows))

    def _one(self, lanes: Lanes) -> Parcel:
        scalar = lanes.scalar
        if not scalar.startswith("%") or scalar in self._known:
            return Parcel(lanes, scalar=scalar)
        at = self._take(self._body.layout.size(lanes.type))
        self._store(str(lanes.type), scalar, at)
        return Parcel(lanes, at=at)

    def _row(self, kind: Type, vector: str) -> int:
        at = self.room(kind)
        self._store(self._body.code.lanes(kind), vector, at)
        return at

    def _store(self, type_: str, value: str, at: int) -> None:
        code = self._body.code
        place = code.value(f"getelementptr i8, ptr {self._memory}, i64 {at}")
        code.line(f"store {type_} {value}, ptr {place}, align {_ALIGNMENT}")

    def _take(self, size: int) -> int:
        at = self.bytes
        self.bytes += -(-size // _ALIGNMENT) * _ALIGNMENT
        return at
