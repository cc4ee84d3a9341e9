"""Rows of all lanes, where a check at run time says whether there is one."""

from __future__ import annotations

from metalbench.msl.emission.access import Access, Vectors
from metalbench.msl.emission.body import Body
from metalbench.msl.emission.lanes import Lanes
from metalbench.msl.emission.rows import row
from metalbench.msl.emission.wide import LINE, copy, interleave, is_whole, wide


def checked(body: Body, address: Lanes, access: Access) -> Vectors | None:
    """Read or write all components as one row, if it is one; None if it never can be.

    If they do not, which is rare, what they have is copied to a row or from one.
    """
    kinds, code = access.kinds, body.code
    plain = Lanes(address.type, address.scalar, address.stride)
    length = body.layout.size(kinds[0]) * len(kinds)
    one = len(kinds) == 1
    if address.stride != length or not (one or is_whole(body, kinds, access.offsets)):
        return None
    with code.scratch():
        spare = code.row(f"[{length * body.width} x i8]", LINE)
        if access.values is None:
            place = _or_copied(body, address, spare, length, access)
            chosen = Lanes(plain.type, place, plain.stride)
            return row(body, place, access) if one else wide(body, chosen, access)
        place = code.value(f"select i1 {address.holds}, ptr {plain.scalar}, ptr {spare}")
        if one:
            row(body, place, access)
        else:
            interleave(body, place, kinds[0], access.values)
        _or_copied(body, address, spare, length, access)
        return ()


def _or_copied(body: Body, address: Lanes, spare: str, length: int, access: Access) -> str:
    """Where the lanes' elements are: in a row of theirs, or, once copied, in a spare one."""
    code = body.code
    start, apart, both = code.fresh("check"), code.fresh("apart"), code.fresh("both")
    code.jump(start)
    code.label(start)
    code.fork(address.holds, both, apart)
    code.label(apart)
    with body.arm():
        copy(body, address, spare, length, access, rarely=True)
    end = code.fresh("end")
    code.jump(end)
    code.label(end)
    code.jump(both)
    code.label(both)
    if access.values is not None:
        return spare
    return code.value(f"phi ptr [ {address.scalar}, %{start} ], [ {spare}, %{end} ]")
