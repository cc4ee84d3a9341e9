"""Elements anywhere in memory, one for each lane."""

from __future__ import annotations

from collections.abc import Sequence

from metalbench.msl.emission.body import Body, mask_of
from metalbench.msl.emission.code import suffix
from metalbench.msl.emission.lanes import Lanes
from metalbench.msl.emission.one_by_one import each_lane
from metalbench.msl.emission.turns import AT_ONCE, in_turn
from metalbench.msl.ir.types import Type


def gather(
    body: Body,
    addresses: Sequence[Lanes],
    kinds: Sequence[Type],
    *,
    rarely: bool = False,
) -> tuple[str, ...]:
    """Elements from each lane's own addresses; in little code, if it is run `rarely`."""
    if _is_loop(body, kinds, rarely=rarely):

        def run(given: Sequence[str]) -> Sequence[str]:
            return [
                body.code.value(f"load {kind}, ptr {place}, align {body.layout.size(kind)}")
                for kind, place in zip(kinds, given, strict=True)
            ]

        return each_lane(body, addresses, kinds, run)
    return tuple(
        _gather(body, address, kind) for address, kind in zip(addresses, kinds, strict=True)
    )


def scatter(
    body: Body,
    addresses: Sequence[Lanes],
    kinds: Sequence[Type],
    vectors: Sequence[str],
    *,
    rarely: bool = False,
) -> None:
    """Write to each lane's own addresses, in order: of those at one place, the last one stays."""
    if not _is_loop(body, kinds, rarely=rarely):
        for address, kind, vector in zip(addresses, kinds, vectors, strict=True):
            _scatter(body, address, kind, vector)
        return

    def run(given: Sequence[str]) -> Sequence[str]:
        for kind, value, place in zip(kinds, given[len(kinds) :], given, strict=False):
            body.code.line(f"store {kind} {value}, ptr {place}, align {body.layout.size(kind)}")
        return []

    values = [Lanes(kind, vectors=(vector,)) for kind, vector in zip(kinds, vectors, strict=True)]
    each_lane(body, [*addresses, *values], [], run)


def _is_loop(body: Body, kinds: Sequence[Type], *, rarely: bool) -> bool:
    has_instruction = all(body.machine.scatters(body.layout.size(kind)) for kind in kinds)
    return not has_instruction and (bool(body.mask) or rarely)


def _gather(body: Body, address: Lanes, kind: Type) -> str:
    code, lanes, size = body.code, body.code.lanes(kind), body.layout.size(kind)
    if not body.machine.scatters(size):
        return _gather_in_turn(body, address, kind)
    arguments = [
        (code.lanes("ptr"), body.vector(address)),
        ("i32", str(size)),
        (code.mask, mask_of(body)),
        (lanes, "poison"),
    ]
    name = f"llvm.masked.gather.v{body.width}{suffix(kind)}.v{body.width}p0"
    return code.call(name, lanes, arguments)


def _scatter(body: Body, address: Lanes, kind: Type, vector: str) -> None:
    code, lanes, size = body.code, body.code.lanes(kind), body.layout.size(kind)
    if not body.machine.scatters(size):
        _scatter_in_turn(body, address, kind, vector)
        return
    arguments = [
        (lanes, vector),
        (code.lanes("ptr"), body.vector(address)),
        ("i32", str(size)),
        (code.mask, mask_of(body)),
    ]
    name = f"llvm.masked.scatter.v{body.width}{suffix(kind)}.v{body.width}p0"
    code.call(name, "void", arguments)


def _gather_in_turn(body: Body, address: Lanes, kind: Type) -> str:
    """All lanes are there: some of them at a time."""
    code, size, some = body.code, body.layout.size(kind), min(AT_ONCE, body.width)
    part = f"<{some} x {kind}>"
    result = code.variable(code.lanes(kind))

    def run(first: str, places: Sequence[str]) -> None:
        found = "poison"
        for at, place in enumerate(places):
            one = code.value(f"load {kind}, ptr {place}, align {size}")
            found = code.value(f"insertelement {part} {found}, {kind} {one}, i64 {at}")
        target = code.value(f"getelementptr {kind}, ptr {result}, i64 {first}")
        code.line(f"store {part} {found}, ptr {target}, align {size}")

    in_turn(body, address, run)
    return code.value(f"load {code.lanes(kind)}, ptr {result}")


def _scatter_in_turn(body: Body, address: Lanes, kind: Type, vector: str) -> None:
    code, size, some = body.code, body.layout.size(kind), min(AT_ONCE, body.width)
    part = f"<{some} x {kind}>"
    values = code.variable(code.lanes(kind))
    code.line(f"store {code.lanes(kind)} {vector}, ptr {values}")

    def run(first: str, places: Sequence[str]) -> None:
        source = code.value(f"getelementptr {kind}, ptr {values}, i64 {first}")
        whole = code.value(f"load {part}, ptr {source}, align {size}")
        for at, place in enumerate(places):
            one = code.value(f"extractelement {part} {whole}, i64 {at}")
            code.line(f"store {kind} {one}, ptr {place}, align {size}")

    in_turn(body, address, run)
