"""Names of LLVM's intrinsics, which end with the types that they are overloaded for."""

from __future__ import annotations

import re
from typing import NamedTuple

from metalbench.msl.ir.text import IrError
from metalbench.msl.ir.types import Float, Int, Pointer, Type, Vector

_PREFIX = "llvm."
_FLOATS = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64"}
_FLOATS |= {"x86_fp80": "f80", "fp128": "f128"}
_FLOAT_NAMES = {suffix: name for name, suffix in _FLOATS.items()}
_SUFFIX = re.compile(
    rf"(?:v(?P<count>\d+))?(?:(?P<float>{'|'.join(_FLOAT_NAMES)})|(?P<kind>[ip])(?P<number>\d+))"
)


class Intrinsic(NamedTuple):
    """An intrinsic: `umax` for the types (`i32`,) is `llvm.umax.i32`."""

    stem: str
    overloads: tuple[Type, ...]

    @property
    def name(self) -> str:
        """Return the name of the function, without `@`. Raises IrError for other types."""
        return ".".join([f"{_PREFIX}{self.stem}", *map(overload_suffix, self.overloads)])


def parse_intrinsic(name: str) -> Intrinsic:
    """Return the intrinsic of a function's name without `@`. Raises IrError for other functions."""
    if not name.startswith(_PREFIX):
        raise IrError(f"{name} is not an intrinsic")
    parts = name.split(".")[1:]
    overloads: list[Type] = []
    while parts and (found := _SUFFIX.fullmatch(parts[-1])):
        element: Type
        if found["float"]:
            element = Float(_FLOAT_NAMES[found["float"]])
        else:
            number = int(found["number"])
            element = Int(number) if found["kind"] == "i" else Pointer(number)
        overloads.insert(0, Vector(int(found["count"]), element) if found["count"] else element)
        parts.pop()
    return Intrinsic(".".join(parts), tuple(overloads))


def overload_suffix(type_: Type) -> str:
    """Return how a type is written in the name of an intrinsic. Raises IrError."""
    if isinstance(type_, Vector):
        return f"v{type_.count}{overload_suffix(type_.element)}"
    if isinstance(type_, Int):
        return f"i{type_.bits}"
    if isinstance(type_, Float) and type_.name in _FLOATS:
        return _FLOATS[type_.name]
    if isinstance(type_, Pointer):
        return f"p{type_.space}"
    raise IrError(f"no intrinsic takes {type_}")
