"""Contiguous rows of all lanes that need a check at run time."""

from __future__ import annotations

from metalbench.msl.emission.access import MemoryAccess, Vectors
from metalbench.msl.emission.body import Emitter
from metalbench.msl.emission.lanes import LaneValue
from metalbench.msl.emission.rows import access_row
from metalbench.msl.emission.wide import (
    CACHE_LINE,
    access_interleaved,
    copy_elements,
    is_contiguous,
    store_interleaved,
)


def access_checked_row(
    emitter: Emitter, address: LaneValue, access: MemoryAccess
) -> Vectors | None:
    """Access all components as one contiguous row if a check passes; None if they never are one.

    If the check fails, which is rare, the elements are copied from or to a temporary row.
    """
    kinds, ir = access.kinds, emitter.ir
    plain = LaneValue(address.type, address.scalar, address.stride)
    length = emitter.layout.size(kinds[0]) * len(kinds)
    one = len(kinds) == 1
    if address.stride != length or not (one or is_contiguous(emitter, kinds, access.offsets)):
        return None
    with ir.scratch_scope():
        spare = ir.take_row(f"[{length * emitter.width} x i8]", CACHE_LINE)
        if access.values is None:
            place = _copy_unless_contiguous(emitter, address, spare, length, access)
            chosen = LaneValue(plain.type, place, plain.stride)
            return (
                access_row(emitter, place, access)
                if one
                else access_interleaved(emitter, chosen, access)
            )
        place = ir.emit(f"select i1 {address.condition}, ptr {plain.scalar}, ptr {spare}")
        if one:
            access_row(emitter, place, access)
        else:
            store_interleaved(emitter, place, kinds[0], access.values)
        _copy_unless_contiguous(emitter, address, spare, length, access)
        return ()


def _copy_unless_contiguous(
    emitter: Emitter, address: LaneValue, spare: str, length: int, access: MemoryAccess
) -> str:
    """Return the address of the lanes' elements: their own row, or a temporary row after a copy."""
    ir = emitter.ir
    start, copying, join = ir.make_name("check"), ir.make_name("else"), ir.make_name("join")
    ir.branch(start)
    ir.start_block(start)
    ir.branch_if(address.condition, join, copying)
    ir.start_block(copying)
    with emitter.conditional_block():
        copy_elements(emitter, address, spare, length, access, rarely=True)
    end = ir.make_name("end")
    ir.branch(end)
    ir.start_block(end)
    ir.branch(join)
    ir.start_block(join)
    if access.values is not None:
        return spare
    return ir.emit(f"phi ptr [ {address.scalar}, %{start} ], [ {spare}, %{end} ]")
