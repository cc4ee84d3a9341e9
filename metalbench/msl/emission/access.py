"""What lanes read or write in memory, and where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from metalbench.msl.emission.body import Body
from metalbench.msl.emission.lanes import Lanes
from metalbench.msl.emission.one_by_one import of_lane
from metalbench.msl.ir.types import Type

Vectors = tuple[str, ...]


@dataclass(frozen=True)
class Access:
    """Elements of these `kinds`, at these `offsets` in bytes from every lane's address.

    `values` are their vectors if they are written; None if they are read. Who does so returns the
    vectors that were read, none of a store.
    """

    kinds: Sequence[Type]
    offsets: Sequence[int]
    values: Vectors | None = None

    @property
    def elements(self) -> list[Access]:
        """Each of them by itself, where it is."""
        values = [(each,) for each in self.values] if self.values is not None else None
        return [
            Access((kind,), (0,), values[at] if values is not None else None)
            for at, kind in enumerate(self.kinds)
        ]

    @property
    def results(self) -> Sequence[Type]:
        """The kinds of what comes out."""
        return self.kinds if self.values is None else ()


def moved(body: Body, address: Lanes, offset: int) -> Lanes:
    """Addresses so many bytes further."""
    if offset == 0:
        return address
    code, kind = body.code, address.type
    if address.is_linear and not address.holds:
        scalar = code.value(f"getelementptr i8, {kind} {address.scalar}, i64 {offset}")
        return Lanes(kind, scalar, address.stride)
    if address.one is not None:
        return Lanes(
            kind,
            later=lambda: (_vector(body, address, offset),),
            one=lambda lane: code.value(
                f"getelementptr i8, {kind} {of_lane(body, address, [], lane)}, i64 {offset}"
            ),
        )
    return Lanes(kind, vectors=(_vector(body, address, offset),))


def _vector(body: Body, address: Lanes, offset: int) -> str:
    code, kind = body.code, address.type
    vector = body.vector(address)
    return code.value(f"getelementptr i8, {code.lanes(kind)} {vector}, i64 {offset}")
