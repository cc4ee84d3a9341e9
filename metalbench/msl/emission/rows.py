"""Elements that follow each other in memory, one for each lane."""

from __future__ import annotations

from metalbench.msl.emission.body import Body
from metalbench.msl.emission.code import suffix
from metalbench.msl.emission.lanes import Lanes
from metalbench.msl.emission.scattered import gather, scatter
from metalbench.msl.ir.types import POINTER, Type


def load_row(body: Body, first: str, kind: Type) -> str:
    """The elements of all lanes, from the first one's address."""
    code, lanes, size = body.code, body.code.lanes(kind), body.layout.size(kind)
    if not body.mask:
        return code.value(f"load {lanes}, ptr {first}, align {size}")
    if not body.machine.masks(size):
        return gather(body, [Lanes(POINTER, first, size)], [kind])[0]
    arguments = [("ptr", first), ("i32", str(size)), (code.mask, body.mask), (lanes, "poison")]
    return code.call(f"llvm.masked.load.v{body.width}{suffix(kind)}.p0", lanes, arguments)


def store_row(body: Body, first: str, kind: Type, vector: str) -> None:
    """Write the elements of all lanes."""
    code, lanes, size = body.code, body.code.lanes(kind), body.layout.size(kind)
    if not body.mask:
        code.line(f"store {lanes} {vector}, ptr {first}, align {size}")
    elif not body.machine.masks(size):
        scatter(body, [Lanes(POINTER, first, size)], [kind], [vector])
    else:
        arguments = [(lanes, vector), ("ptr", first), ("i32", str(size)), (code.mask, body.mask)]
        code.call(f"llvm.masked.store.v{body.width}{suffix(kind)}.p0", "void", arguments)
