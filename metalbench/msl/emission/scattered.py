"""Elements anywhere in memory, one for each lane."""

from __future__ import annotations

from collections.abc import Sequence

from metalbench.msl.emission.access import Access, Vectors
from metalbench.msl.emission.body import Body, mask_of
from metalbench.msl.emission.code import suffix
from metalbench.msl.emission.functions import gathered
from metalbench.msl.emission.lanes import Lanes
from metalbench.msl.emission.one_by_one import ROW_ALIGNMENT, each_lane, stored
from metalbench.msl.emission.turns import AT_ONCE, in_turn
from metalbench.msl.ir.types import Int, Type

_WORD = 4  # bytes
_INT = Int(8 * _WORD)


def scattered(
    body: Body, addresses: Sequence[Lanes], access: Access, *, rarely: bool = False
) -> Vectors:
    """Read or write each element at addresses of its own; in little code, if it is run `rarely`.

    Written are they in the order of the lanes: of those at one place, the last one stays.
    """
    if _is_loop(body, access, rarely=rarely):
        return _by_lane(body, addresses, access)
    found: Vectors = ()
    for address, element in zip(addresses, access.elements, strict=True):
        if element.values is None:
            found += (_gather(body, address, element.kinds[0]),)
        else:
            _scatter(body, address, element.kinds[0], element.values[0])
    return found


def _by_lane(body: Body, addresses: Sequence[Lanes], access: Access) -> Vectors:
    kinds = access.kinds

    def run(given: Sequence[str]) -> Sequence[str]:
        code, found = body.code, []
        for at, (kind, place) in enumerate(zip(kinds, given, strict=False)):
            size = body.layout.size(kind)
            if access.values is None:
                found.append(code.value(f"load {kind}, ptr {place}, align {size}"))
            else:
                code.line(f"store {kind} {given[len(kinds) + at]}, ptr {place}, align {size}")
        return found

    values = [
        Lanes(kind, vectors=(vector,))
        for kind, vector in zip(kinds, access.values or (), strict=False)
    ]
    return each_lane(body, [*addresses, *values], access.results, run)


def _is_loop(body: Body, access: Access, *, rarely: bool) -> bool:
    if any(stored(each) != each for each in access.kinds):
        return True
    has_instruction = all(body.machine.scatters(body.layout.size(each)) for each in access.kinds)
    return not has_instruction and (bool(body.mask) or rarely)


def _gather(body: Body, address: Lanes, kind: Type) -> str:
    code, size = body.code, body.layout.size(kind)
    if not body.machine.scatters(max(size, _WORD)):
        return _gather_in_turn(body, address, kind)
    if size < _WORD:
        return _gather_of_words(body, address, kind)
    return gathered(code, kind, body.vector(address), mask_of(body), "poison", size)


def _gather_of_words(body: Body, address: Lanes, kind: Type) -> str:
    """Of smaller elements, by the words that they are parts of.

    An aligned word is in one page of memory: where one of its bytes may be read, all may. Nothing
    in LLVM knows whose they are, as pointers that were numbers lead to them.
    """
    code, size = body.code, body.layout.size(kind)
    wide, words = code.lanes("i64"), code.lanes(_INT)
    number = code.value(f"ptrtoint {code.lanes('ptr')} {body.vector(address)} to {wide}")
    aligned = code.value(f"and {wide} {number}, splat (i64 {-_WORD})")
    places = code.value(f"inttoptr {wide} {aligned} to {code.lanes('ptr')}")
    found = gathered(code, _INT, places, mask_of(body), "poison", _WORD)
    low = code.value(f"trunc {wide} {number} to {words}")
    byte = code.value(f"and {words} {low}, splat (i32 {_WORD - size})")
    bits = code.value(f"shl {words} {byte}, splat (i32 3)")
    moved = code.value(f"lshr {words} {found}, {bits}")
    part = Int(8 * size)
    element = code.value(f"trunc {words} {moved} to {code.lanes(part)}")
    if kind == part:
        return element
    return code.value(f"bitcast {code.lanes(part)} {element} to {code.lanes(kind)}")


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
    with code.scratch():
        result = code.row(code.lanes(kind), ROW_ALIGNMENT)

        def run(first: str, places: Sequence[str]) -> None:
            found = "poison"
            for at, place in enumerate(places):
                one = code.value(f"load {kind}, ptr {place}, align {size}")
                found = code.value(f"insertelement {part} {found}, {kind} {one}, i64 {at}")
            target = code.value(f"getelementptr {kind}, ptr {result}, i64 {first}")
            code.line(f"store {part} {found}, ptr {target}, align {size}")

        in_turn(body, address, run)
        return code.value(f"load {code.lanes(kind)}, ptr {result}, align {ROW_ALIGNMENT}")


def _scatter_in_turn(body: Body, address: Lanes, kind: Type, vector: str) -> None:
    code, size, some = body.code, body.layout.size(kind), min(AT_ONCE, body.width)
    part = f"<{some} x {kind}>"
    with code.scratch():
        values = code.row(code.lanes(kind), ROW_ALIGNMENT)
        code.line(f"store {code.lanes(kind)} {vector}, ptr {values}, align {ROW_ALIGNMENT}")

        def run(first: str, places: Sequence[str]) -> None:
            source = code.value(f"getelementptr {kind}, ptr {values}, i64 {first}")
            whole = code.value(f"load {part}, ptr {source}, align {size}")
            for at, place in enumerate(places):
                one = code.value(f"extractelement {part} {whole}, i64 {at}")
                code.line(f"store {kind} {one}, ptr {place}, align {size}")

        in_turn(body, address, run)
