"""Two versions of code, one of which is chosen at run time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from metalbench.msl.emission.body import Emitter
from metalbench.msl.ir.types import Type


def emit_versions(
    emitter: Emitter,
    condition: str,
    yes: Callable[[], tuple[str, ...]],
    no: Callable[[], tuple[str, ...]],
    kinds: Sequence[Type],
) -> tuple[str, ...]:
    """Emit both versions, and return the vectors of types `kinds` of the one that ran."""
    ir = emitter.ir
    then, otherwise, join = ir.make_name("then"), ir.make_name("else"), ir.make_name("join")
    ir.branch_if(condition, then, otherwise)
    found, ends = [], []
    for name, emit in ((then, yes), (otherwise, no)):
        ir.start_block(name)
        with emitter.conditional_block():
            found.append(emit())
        ends.append(ir.make_name("end"))
        ir.branch(ends[-1])
        ir.start_block(ends[-1])
        ir.branch(join)
    ir.start_block(join)
    return tuple(
        ir.emit(f"phi {ir.vector_type(kind)} [ {one}, %{ends[0]} ], [ {other}, %{ends[1]} ]")
        for kind, one, other in zip(kinds, *found, strict=True)
    )
