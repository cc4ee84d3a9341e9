"""Two ways to do the same, of which one is taken when the code runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from metalbench.msl.emission.body import Body
from metalbench.msl.ir.types import Type


def versions(
    body: Body,
    condition: str,
    yes: Callable[[], tuple[str, ...]],
    no: Callable[[], tuple[str, ...]],
    kinds: Sequence[Type],
) -> tuple[str, ...]:
    """The vectors, of these kinds, that come out of the way that was taken."""
    code = body.code
    near, apart, both = code.fresh("near"), code.fresh("apart"), code.fresh("both")
    code.fork(condition, near, apart)
    found, ends = [], []
    for name, way in ((near, yes), (apart, no)):
        code.label(name)
        with body.arm():
            found.append(way())
        ends.append(code.fresh("end"))
        code.jump(ends[-1])
        code.label(ends[-1])
        code.jump(both)
    code.label(both)
    return tuple(
        code.value(f"phi {code.lanes(kind)} [ {one}, %{ends[0]} ], [ {other}, %{ends[1]} ]")
        for kind, one, other in zip(kinds, *found, strict=True)
    )
