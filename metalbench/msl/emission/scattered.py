"""Elements anywhere in memory, one for each lane."""

from __future__ import annotations

from collections.abc import Sequence

from metalbench.msl.emission.body import Body, mask_of
from metalbench.msl.emission.code import suffix
from metalbench.msl.emission.lanes import Lanes
from metalbench.msl.emission.one_by_one import each_lane
from metalbench.msl.ir.types import Type


def gather(body: Body, address: Lanes, kind: Type, *, rarely: bool = False) -> str:
    """One element from each lane's own address; in little code, if it is run `rarely`."""
    code, lanes, size = body.code, body.code.lanes(kind), body.layout.size(kind)
    if not body.machine.scatters(size):
        if not body.mask and not rarely:
            return _gather_in_turn(body, address, kind)

        def run(given: Sequence[str]) -> Sequence[str]:
            return [code.value(f"load {kind}, ptr {given[0]}, align {size}")]

        (found,) = each_lane(body, [address], [kind], run)
        return found
    arguments = [
        (code.lanes("ptr"), body.vector(address)),
        ("i32", str(size)),
        (code.mask, mask_of(body)),
        (lanes, "poison"),
    ]
    name = f"llvm.masked.gather.v{body.width}{suffix(kind)}.v{body.width}p0"
    return code.call(name, lanes, arguments)


def scatter(
    body: Body, address: Lanes, kind: Type, vector: str, *, rarely: bool = False
) -> None:
    """Write to each lane's own address, in order: of those at one place, the last one stays."""
    code, lanes, size = body.code, body.code.lanes(kind), body.layout.size(kind)
    if not body.machine.scatters(size):
        if not body.mask and not rarely:
            _scatter_in_turn(body, address, kind, vector)
            return

        def run(given: Sequence[str]) -> Sequence[str]:
            code.line(f"store {kind} {given[1]}, ptr {given[0]}, align {size}")
            return []

        each_lane(body, [address, Lanes(kind, vectors=(vector,))], [], run)
        return
    arguments = [
        (lanes, vector),
        (code.lanes("ptr"), body.vector(address)),
        ("i32", str(size)),
        (code.mask, mask_of(body)),
    ]
    name = f"llvm.masked.scatter.v{body.width}{suffix(kind)}.v{body.width}p0"
    code.call(name, "void", arguments)


def _of_lane(body: Body, address: Lanes, lane: int) -> str:
    code = body.code
    if address.is_linear and not address.holds:
        return code.value(f"getelementptr i8, ptr {address.scalar}, i64 {address.stride * lane}")
    return code.value(f"extractelement {code.lanes('ptr')} {body.vector(address)}, i64 {lane}")


def _gather_in_turn(body: Body, address: Lanes, kind: Type) -> str:
    code, lanes, size, found = body.code, body.code.lanes(kind), body.layout.size(kind), "poison"
    for lane in range(body.width):
        place = _of_lane(body, address, lane)
        one = code.value(f"load {kind}, ptr {place}, align {size}")
        found = code.value(f"insertelement {lanes} {found}, {kind} {one}, i64 {lane}")
    return found


def _scatter_in_turn(body: Body, address: Lanes, kind: Type, vector: str) -> None:
    code, lanes, size = body.code, body.code.lanes(kind), body.layout.size(kind)
    for lane in range(body.width):
        place = _of_lane(body, address, lane)
        one = code.value(f"extractelement {lanes} {vector}, i64 {lane}")
        code.line(f"store {kind} {one}, ptr {place}, align {size}")
