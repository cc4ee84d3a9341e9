"""The same bits as elements of another size."""

from __future__ import annotations

from collections.abc import Sequence

from metalbench.msl.emission.body import Body
from metalbench.msl.ir.text import IrError
from metalbench.msl.ir.types import BOOL, Float, Int, Type


def recast(body: Body, of: Type, to: Sequence[Type], vectors: Sequence[str]) -> tuple[str, ...]:
    """The same bits in other elements: wider ones of several, narrower ones of each."""
    code, source, target = body.code, _bits(body, of), _bits(body, to[0])
    wide, narrow = code.lanes(f"i{target}"), code.lanes(f"i{source}")
    numbers = [_as(body, each, of, f"i{source}") for each in vectors]
    found = []
    for at in range(len(to)):
        if target > source:
            many = target // source
            parts = numbers[at * many : (at + 1) * many]
            whole = "zeroinitializer"
            for k, part in enumerate(parts):
                wider = code.value(f"zext {narrow} {part} to {wide}")
                moved = code.value(f"shl {wide} {wider}, splat (i{target} {k * source})")
                whole = code.value(f"or {wide} {whole}, {moved}")
        else:
            many = source // target
            shift = at % many * target
            moved = code.value(f"lshr {narrow} {numbers[at // many]}, splat (i{source} {shift})")
            whole = code.value(f"trunc {narrow} {moved} to {wide}")
        lanes = code.lanes(to[at])
        found.append(
            whole if isinstance(to[at], Int) else code.value(f"bitcast {wide} {whole} to {lanes}")
        )
    return tuple(found)


def _as(body: Body, vector: str, of: Type, number: str) -> str:
    if isinstance(of, Int):
        return vector
    return body.code.value(f"bitcast {body.code.lanes(of)} {vector} to {body.code.lanes(number)}")


def _bits(body: Body, type_: Type) -> int:
    if isinstance(type_, Int | Float) and type_ != BOOL:
        return type_.bits
    raise IrError(f"the bits of {type_} as other elements")
