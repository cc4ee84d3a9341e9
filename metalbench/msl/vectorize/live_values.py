"""Live-ins and live-outs of scalar regions, and the regions that share a function."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from metalbench.msl.analysis.control_flow import Flow
from metalbench.msl.analysis.divergence import DivergentRegion
from metalbench.msl.ir.model import BasicBlock, Phi, Value
from metalbench.msl.ir.types import POINTER, Int, Type
from metalbench.msl.vectorize.body import Emitter
from metalbench.msl.vectorize.lane_values import IndexedAddresses, LaneValue
from metalbench.msl.vectorize.serialize import (
    convert_to_storage,
    extract_affine_lane,
    get_storage_type,
    load_element,
    load_indexed_address,
)


def find_outermost_regions(
    flow: Flow, regions: Mapping[BasicBlock, DivergentRegion], serialized: Collection[BasicBlock]
) -> dict[BasicBlock, DivergentRegion]:
    """Return for each serialized branch the largest serialized region that contains its region."""
    largest = sorted(
        (regions[branch] for branch in serialized),
        key=lambda region: (-len(region.blocks), flow.position[region.branch]),
    )
    return {
        inner.branch: next(outer for outer in largest if _contains(outer, inner))
        for inner in largest
    }


def _contains(outer: DivergentRegion, inner: DivergentRegion) -> bool:
    if outer is inner:
        return True
    return inner.branch in outer.blocks and inner.blocks <= outer.blocks


@dataclass(frozen=True)
class LiveOut:
    """A live-out of a region: a phi of the join, or a value of each lane's last iteration."""

    kind: str
    name: str
    type: Type


def find_live_outs(emitter: Emitter, region: DivergentRegion) -> list[LiveOut]:
    """Return the live-outs of a region or of a part of it."""
    join = region.join
    phis = join.phis if join.instructions else ()
    return [
        *(LiveOut("phi", phi.result, phi.type) for phi in phis),
        *_find_temporal_live_outs(emitter, region),
    ]


def _find_temporal_live_outs(emitter: Emitter, region: DivergentRegion) -> Iterator[LiveOut]:
    """Yield the values of the last iteration of a loop that lanes leave in this region."""
    inside = region.blocks | {region.branch}
    divergence, users = emitter.analysis.uniformity.divergence, emitter.kernel.uses
    for block in emitter.flow.order:
        if block not in inside:
            continue
        for each in block.instructions:
            uses = users.get(each.result)
            if uses and any(
                use not in inside and divergence.is_temporally_divergent(block, use) for use in uses
            ):
                yield LiveOut("iteration", each.result, each.type)


def find_live_ins(emitter: Emitter, region: DivergentRegion) -> list[Value]:
    """Return the live-ins: values from before the branch that are used before a redefinition."""
    definitions = emitter.analysis.uniformity.definitions
    before: dict[BasicBlock, set[BasicBlock]] = {}
    found: dict[str, Value] = {}
    for user, value in _find_uses(emitter, region):
        for each in _find_rematerialisation_operands(emitter, value):
            defined = definitions.get(each.text)
            if defined is None or not emitter.flow.dominates(defined, region.branch):
                continue
            if defined not in before:
                before[defined] = _find_reachable(region, defined)
            if user in before[defined]:
                found[each.text] = each
    return list(found.values())


def _find_reachable(region: DivergentRegion, defined: BasicBlock) -> set[BasicBlock]:
    """Return the blocks that lanes reach before they leave the block `defined` again."""
    seen = {region.branch}
    work = [region.branch]
    while work:
        for block in work.pop().successors:
            if block in region.blocks and block not in seen and block is not defined:
                seen.add(block)
                work.append(block)
    return seen | {region.join}


def _find_rematerialisation_operands(emitter: Emitter, value: Value) -> Iterator[Value]:
    """Yield the values from which a value is rematerialised; else the value itself."""
    instruction = emitter.kernel.rematerialised.get(value.text)
    if instruction is None:
        yield value
    else:
        for operand in instruction.operands:
            yield from _find_rematerialisation_operands(emitter, operand)


def _find_uses(emitter: Emitter, region: DivergentRegion) -> Iterator[tuple[BasicBlock, Value]]:
    """Yield every use with its block; a phi uses an operand in the predecessor."""
    inside, branch = region.blocks, region.branch
    blocks = [block for block in emitter.flow.order if block in inside]
    for block in blocks:
        own = {each.result for each in block.instructions}
        for each in block.instructions:
            if not isinstance(each, Phi):
                yield from ((block, value) for value in each.operands if value.text not in own)
    for value in branch.terminator.operands:
        yield branch, value
    for block in (*blocks, region.join):
        for phi in block.phis if block.instructions else ():
            for value, source in zip(phi.operands, phi.sources, strict=True):
                where = emitter.function.blocks.get(source)
                if where is not None and (where in inside or where is branch):
                    yield where, value
    for result in _find_temporal_live_outs(emitter, region):
        yield region.join, Value(result.type, result.name)


# Live-in and live-out buffers: memory that passes values to and from a scalar region.

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
