"""LLVM's own functions, and the instructions like them, on vectors of any length."""

from __future__ import annotations

from metalbench.msl.emission.code import Code, suffix
from metalbench.msl.ir.types import Float, Type

_HALF = Float("half")
# For vectors of halves LLVM would call a library's function, and there is no library.
_CHOICES_OF_HALVES = {"llvm.minnum": "olt", "llvm.maxnum": "ogt"}


def joined(
    code: Code, name: str, kind: Type, one: str, other: str, *, count: int, flags: str = ""
) -> str:
    """Two vectors of `count` elements made one, by an instruction or a function of LLVM's."""
    vector = f"<{count} x {kind}>"
    if kind == _HALF and name in _CHOICES_OF_HALVES:
        return _chosen(code, _CHOICES_OF_HALVES[name], vector, count, (one, other))
    if name.startswith("llvm."):
        given = [(vector, one), (vector, other)]
        return code.call(f"{name}.v{count}{suffix(kind)}", vector, given, flags=flags)
    return code.value(f"{name} {flags}{vector} {one}, {other}")


def gathered(  # noqa: PLR0917 - as the intrinsic has them
    code: Code, kind: Type, addresses: str, active: str, otherwise: str, alignment: int
) -> str:
    """The elements at the active lanes' addresses; others have what `otherwise` says."""
    lanes = code.lanes(kind)
    arguments = [
        (code.lanes("ptr"), addresses),
        ("i32", str(alignment)),
        (code.mask, active),
        (lanes, otherwise),
    ]
    name = f"llvm.masked.gather.v{code.width}{suffix(kind)}.v{code.width}p0"
    return code.call(name, lanes, arguments)


def _chosen(code: Code, relation: str, vector: str, count: int, pair: tuple[str, str]) -> str:
    """The second of two numbers where it is that much less or more, or the first is none."""
    one, other = pair
    truth = f"<{count} x i1>"
    beyond = code.value(f"fcmp {relation} {vector} {other}, {one}")
    none = code.value(f"fcmp uno {vector} {one}, zeroinitializer")
    second = code.value(f"or {truth} {beyond}, {none}")
    return code.value(f"select {truth} {second}, {vector} {other}, {vector} {one}")
