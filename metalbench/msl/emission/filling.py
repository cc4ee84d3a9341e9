"""`llvm.memset` of interleaved private memory."""

from __future__ import annotations

from metalbench.msl.emission.access import MemoryAccess, offset_address
from metalbench.msl.emission.body import Emitter
from metalbench.msl.emission.lanes import LaneValue
from metalbench.msl.emission.rows import access_row
from metalbench.msl.ir.model import Call
from metalbench.msl.ir.types import Int


def emit_memset(emitter: Emitter, call: Call) -> None:
    """Emit a fill with one byte: a memset for all lanes, or one masked store per element."""
    address = emitter.get(call.operands[0])
    byte, length = (call.operands[at].integer or 0 for at in (1, 2))
    size = emitter.analysis.layout.strides[emitter.analysis.variables[call.operands[0].text]]
    if not emitter.mask and not emitter.is_scalar:
        whole = length * emitter.width
        arguments = [
            ("ptr", address.scalar),
            ("i8", str(byte)),
            ("i64", str(whole)),
            ("i1", "false"),
        ]
        emitter.ir.call("llvm.memset.p0.i64", "void", arguments)
        return
    kind = Int(8 * size)
    number = int.from_bytes(bytes([byte & 255]) * size, "little", signed=True)
    for at in range(0, length, size):
        here = offset_address(
            emitter, LaneValue(address.type, address.scalar, address.stride), at * emitter.width
        )
        if emitter.is_scalar:
            emitter.ir.emit_void(f"store {kind} {number}, ptr {here.scalar}, align {size}")
        else:
            access_row(
                emitter, here.scalar, MemoryAccess((kind,), (0,), (f"splat ({kind} {number})",))
            )
