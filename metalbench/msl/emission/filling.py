"""Private memory that lanes have side by side, filled with one byte."""

from __future__ import annotations

from metalbench.msl.emission.access import Access, moved
from metalbench.msl.emission.body import Body
from metalbench.msl.emission.lanes import Lanes
from metalbench.msl.emission.rows import row
from metalbench.msl.ir.model import Call
from metalbench.msl.ir.types import Int


def fill(body: Body, call: Call) -> None:
    """`llvm.memset` of elements: of all lanes they follow each other, of some they do not."""
    address = body.get(call.operands[0])
    byte, length = (call.operands[at].integer or 0 for at in (1, 2))
    size = body.analysis.layout.strides[body.analysis.variables[call.operands[0].text]]
    if not body.mask and not body.is_alone:
        whole = length * body.width
        arguments = [
            ("ptr", address.scalar),
            ("i8", str(byte)),
            ("i64", str(whole)),
            ("i1", "false"),
        ]
        body.code.call("llvm.memset.p0.i64", "void", arguments)
        return
    kind = Int(8 * size)
    number = int.from_bytes(bytes([byte & 255]) * size, "little", signed=True)
    for at in range(0, length, size):
        here = moved(body, Lanes(address.type, address.scalar, address.stride), at * body.width)
        if body.is_alone:
            body.code.line(f"store {kind} {number}, ptr {here.scalar}, align {size}")
        else:
            row(body, here.scalar, Access((kind,), (0,), (f"splat ({kind} {number})",)))
