"""Loops over lanes that are all there."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from metalbench.msl.emission.body import Body
from metalbench.msl.emission.lanes import Lanes
from metalbench.msl.emission.one_by_one import laid_out, of_lane

AT_ONCE = 8  # lanes: a register of four-byte elements


def in_turn(
    body: Body,
    address: Lanes,
    run: Callable[[str, Sequence[str]], None],
    *,
    at_once: int = AT_ONCE,
) -> None:
    """A loop over all lanes, some at a time: `run` gets the first of them, and their addresses."""
    code, some = body.code, min(at_once, body.width)
    plain = address.is_linear and not address.holds
    with code.scratch():
        slots = [] if plain else laid_out(body, address)
        start, turn, done = code.fresh("turns"), code.fresh("turn"), code.fresh("done")
        code.jump(start)
        code.label(start)
        code.jump(turn)
        code.label(turn)
        now, after = f"%{code.fresh('now')}", f"%{code.fresh('after')}"
        code.line(f"{now} = phi i64 [ 0, %{start} ], [ {after}, %{turn} ]")
        if plain:
            offset = code.value(f"mul i64 {now}, {address.stride}")
            first = code.value(f"getelementptr i8, ptr {address.scalar}, i64 {offset}")
            places = [
                code.value(f"getelementptr i8, ptr {first}, i64 {address.stride * at}")
                for at in range(some)
            ]
        else:
            places = []
            for at in range(some):
                lane = code.value(f"add i64 {now}, {at}")
                places.append(of_lane(body, address, slots, lane))
        run(now, places)
        code.line(f"{after} = add i64 {now}, {some}")
        code.fork(code.value(f"icmp eq i64 {after}, {body.width}"), done, turn)
        code.label(done)
