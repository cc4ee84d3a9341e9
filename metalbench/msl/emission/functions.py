"""Intrinsics, and instructions of the same kind, on vectors of any length."""

from __future__ import annotations

from metalbench.msl.emission.code import IrBuilder, get_overload_suffix
from metalbench.msl.ir.types import Float, Type

_HALF = Float("half")
# For vectors of halves LLVM would call a library function, which is not linked.
_HALF_MINMAX = {"llvm.minnum": "olt", "llvm.maxnum": "ogt"}


def combine_vectors(
    ir: IrBuilder, name: str, kind: Type, one: str, other: str, *, count: int, flags: str = ""
) -> str:
    """Combine two vectors of `count` elements by an instruction or an intrinsic."""
    vector = f"<{count} x {kind}>"
    if kind == _HALF and name in _HALF_MINMAX:
        return _emit_half_minmax(ir, _HALF_MINMAX[name], vector, count, (one, other))
    if name.startswith("llvm."):
        given = [(vector, one), (vector, other)]
        return ir.call(f"{name}.v{count}{get_overload_suffix(kind)}", vector, given, flags=flags)
    return ir.emit(f"{name} {flags}{vector} {one}, {other}")


def emit_masked_gather(  # noqa: PLR0917 - as the intrinsic has them
    ir: IrBuilder, kind: Type, addresses: str, active: str, otherwise: str, alignment: int
) -> str:
    """Load the elements at the active lanes' addresses; other lanes get those of `otherwise`."""
    lanes = ir.vector_type(kind)
    arguments = [
        (ir.vector_type("ptr"), addresses),
        ("i32", str(alignment)),
        (ir.mask_type, active),
        (lanes, otherwise),
    ]
    name = f"llvm.masked.gather.v{ir.width}{get_overload_suffix(kind)}.v{ir.width}p0"
    return ir.call(name, lanes, arguments)


def _emit_half_minmax(
    ir: IrBuilder, relation: str, vector: str, count: int, pair: tuple[str, str]
) -> str:
    """Return minnum or maxnum of halves: the second if it compares so, or if the first is NaN."""
    one, other = pair
    truth = f"<{count} x i1>"
    beyond = ir.emit(f"fcmp {relation} {vector} {other}, {one}")
    none = ir.emit(f"fcmp uno {vector} {one}, zeroinitializer")
    second = ir.emit(f"or {truth} {beyond}, {none}")
    return ir.emit(f"select {truth} {second}, {vector} {other}, {vector} {one}")
