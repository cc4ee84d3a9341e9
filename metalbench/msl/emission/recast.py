"""Bitcasts between elements of different sizes."""

from __future__ import annotations

from collections.abc import Sequence

from metalbench.msl.emission.body import Emitter
from metalbench.msl.ir.text import IrError
from metalbench.msl.ir.types import BOOL, Float, Int, Type


def emit_bitcast(
    emitter: Emitter, of: Type, to: Sequence[Type], vectors: Sequence[str]
) -> tuple[str, ...]:
    """Return the same bits as other elements: several joined into a wider one, or one split."""
    ir, source, target = emitter.ir, _get_bits(emitter, of), _get_bits(emitter, to[0])
    wide, narrow = ir.vector_type(f"i{target}"), ir.vector_type(f"i{source}")
    numbers = [_cast_to_integers(emitter, each, of, f"i{source}") for each in vectors]
    found = []
    for at in range(len(to)):
        if target > source:
            many = target // source
            parts = numbers[at * many : (at + 1) * many]
            whole = "zeroinitializer"
            for k, part in enumerate(parts):
                wider = ir.emit(f"zext {narrow} {part} to {wide}")
                moved = ir.emit(f"shl {wide} {wider}, splat (i{target} {k * source})")
                whole = ir.emit(f"or {wide} {whole}, {moved}")
        else:
            many = source // target
            shift = at % many * target
            moved = ir.emit(f"lshr {narrow} {numbers[at // many]}, splat (i{source} {shift})")
            whole = ir.emit(f"trunc {narrow} {moved} to {wide}")
        lanes = ir.vector_type(to[at])
        found.append(
            whole if isinstance(to[at], Int) else ir.emit(f"bitcast {wide} {whole} to {lanes}")
        )
    return tuple(found)


def _cast_to_integers(emitter: Emitter, vector: str, of: Type, number: str) -> str:
    if isinstance(of, Int):
        return vector
    return emitter.ir.emit(
        f"bitcast {emitter.ir.vector_type(of)} {vector} to {emitter.ir.vector_type(number)}"
    )


def _get_bits(emitter: Emitter, type_: Type) -> int:
    if isinstance(type_, Int | Float) and type_ != BOOL:
        return type_.bits
    raise IrError(f"cannot bitcast elements of type {type_} to another size")
