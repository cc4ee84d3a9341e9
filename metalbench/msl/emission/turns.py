"""Loops over groups of lanes that are all active."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from metalbench.msl.emission.body import Emitter
from metalbench.msl.emission.lanes import LaneValue
from metalbench.msl.emission.one_by_one import extract_lane, store_operand

LANES_AT_ONCE = 8  # lanes: a register of four-byte elements


def for_each_lane_group(
    emitter: Emitter,
    address: LaneValue,
    run: Callable[[str, Sequence[str]], None],
    *,
    at_once: int = LANES_AT_ONCE,
) -> None:
    """Emit a loop over groups of lanes: `run` gets the first lane and the group's addresses."""
    ir, some = emitter.ir, min(at_once, emitter.width)
    plain = address.is_affine and not address.condition
    with ir.scratch_scope():
        slots = [] if plain else store_operand(emitter, address)
        start, body, done = ir.make_name("groups"), ir.make_name("group"), ir.make_name("done")
        ir.branch(start)
        ir.start_block(start)
        ir.branch(body)
        ir.start_block(body)
        now, after = f"%{ir.make_name('now')}", f"%{ir.make_name('after')}"
        ir.emit_void(f"{now} = phi i64 [ 0, %{start} ], [ {after}, %{body} ]")
        if plain:
            offset = ir.emit(f"mul i64 {now}, {address.stride}")
            first = ir.emit(f"getelementptr i8, ptr {address.scalar}, i64 {offset}")
            places = [
                ir.emit(f"getelementptr i8, ptr {first}, i64 {address.stride * at}")
                for at in range(some)
            ]
        else:
            places = []
            for at in range(some):
                lane = ir.emit(f"add i64 {now}, {at}")
                places.append(extract_lane(emitter, address, slots, lane))
        run(now, places)
        ir.emit_void(f"{after} = add i64 {now}, {some}")
        ir.branch_if(ir.emit(f"icmp eq i64 {after}, {emitter.width}"), done, body)
        ir.start_block(done)
