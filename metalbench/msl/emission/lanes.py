"""Values as the emitted function has them: one for all lanes, lane 0's and a stride, or vectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from metalbench.msl.emission.code import Code, literal, numbers
from metalbench.msl.ir.text import IrError, split
from metalbench.msl.ir.types import Array, Float, Int, Layout, Pointer, Struct, Type, Vector


class Near(NamedTuple):
    """Addresses in one array: `base`, and the lanes' 32-bit `indices`, widened by `widening`."""

    base: str
    indices: str
    widening: str  # zext or sext
    scale: int  # bytes of an element


@dataclass(slots=True)
class Lanes:
    """A value of `type` in every lane.

    `scalar` is lane 0's where the others follow by `stride` (0: all have it), `holds` the condition
    under which they do. `vectors` has the lanes of every component; empty until somebody asks.
    `ends` are the first and the last lane's of a condition that changes once at most from lane to
    lane, and whether that is so. `near` says more of addresses. `later` makes the vectors, of what
    may never need them, and `one` a lane's value, by the lane's number.
    """

    type: Type
    scalar: str = ""
    stride: int = 0
    holds: str = ""
    vectors: tuple[str, ...] = ()
    ends: tuple[str, str, str] | None = None
    near: Near | None = None
    later: Callable[[], tuple[str, ...]] | None = None
    one: Callable[[str], str] | None = None

    @property
    def is_uniform(self) -> bool:
        """Whether one value stands for all lanes."""
        return bool(self.scalar) and self.stride == 0 and not self.holds

    @property
    def is_linear(self) -> bool:
        """Whether lane 0's value and the stride give all of them."""
        return bool(self.scalar)


def components(type_: Type, layout: Layout) -> list[Type]:
    """The scalars that a value is made of, in order."""
    type_ = layout.resolved(type_)
    if isinstance(type_, Int | Float | Pointer):
        return [type_]
    if isinstance(type_, Vector | Array):
        return components(type_.element, layout) * type_.count
    if isinstance(type_, Struct):
        return [each for member in type_.members for each in components(member, layout)]
    raise IrError(f"a value of type {type_}")


def paths(type_: Type, layout: Layout) -> list[tuple[int, ...]]:
    """Where each component is: the indices of arrays, structs and vectors that lead to it."""
    type_ = layout.resolved(type_)
    if isinstance(type_, Vector | Array):
        members = [type_.element] * type_.count
    elif isinstance(type_, Struct):
        members = list(type_.members)
    else:
        return [()]
    return [
        (index, *rest) for index, member in enumerate(members) for rest in paths(member, layout)
    ]


def offsets(type_: Type, layout: Layout) -> list[int]:
    """Where each component is in memory, in bytes from the value's start."""
    resolved = layout.resolved(type_)
    if isinstance(resolved, Int | Float | Pointer):
        return [0]
    found = []
    for index in range(_count(resolved)):
        start, inner = layout.member(resolved, index)
        found += [start + each for each in offsets(inner, layout)]
    return found


def _count(resolved: Type) -> int:
    """How many parts a type has. Raises IrError."""
    if isinstance(resolved, Struct):
        return len(resolved.members)
    if isinstance(resolved, Vector | Array):
        return resolved.count
    raise IrError(f"a value of type {resolved}")


def take_apart(code: Code, type_: Type, value: str, layout: Layout) -> list[str]:
    """The components of a value that is one for all lanes."""
    if value in ("poison", "undef", "zeroinitializer"):
        return [value] * len(components(type_, layout))
    if isinstance(type_, Vector) and value.startswith("splat ("):
        return [value[7:-1].removeprefix(f"{type_.element} ")] * type_.count
    if isinstance(type_, Vector) and value.startswith("<"):
        return [each.removeprefix(f"{type_.element} ") for each in split(value[1:-1])]
    return [_part(code, type_, value, path, layout) for path in paths(type_, layout)]


def _part(code: Code, type_: Type, value: str, path: tuple[int, ...], layout: Layout) -> str:
    if not path:
        return value
    resolved = layout.resolved(type_)
    if isinstance(resolved, Vector):
        return code.value(f"extractelement {type_} {value}, i64 {path[0]}")
    inner = layout.member(resolved, path[0])[1]
    part = code.value(f"extractvalue {type_} {value}, {path[0]}")
    return _part(code, inner, part, path[1:], layout)


def put_together(code: Code, type_: Type, parts: list[str], layout: Layout) -> str:
    """One value of its components, the reverse of `take_apart`."""
    resolved = layout.resolved(type_)
    if isinstance(resolved, Int | Float | Pointer):
        return parts[0]
    whole, at = "poison", 0
    is_vector = isinstance(resolved, Vector)
    for index in range(_count(resolved)):
        inner = layout.member(resolved, index)[1]
        size = len(components(inner, layout))
        part = put_together(code, inner, parts[at : at + size], layout)
        at += size
        if is_vector:
            whole = code.value(f"insertelement {type_} {whole}, {inner} {part}, i64 {index}")
        else:
            whole = code.value(f"insertvalue {type_} {whole}, {inner} {part}, {index}")
    return whole


def splat(code: Code, type_: Type, scalar: str) -> str:
    """The same scalar in every lane."""
    if scalar in ("poison", "undef", "zeroinitializer"):
        return scalar
    if scalar == "null":
        return "zeroinitializer"
    lanes = code.lanes(type_)
    if scalar[0] not in "%@" and "(" not in scalar:
        return f"splat ({type_} {scalar})"
    one = code.value(f"insertelement {lanes} poison, {type_} {scalar}, i64 0")
    return code.value(
        f"shufflevector {lanes} {one}, {lanes} poison, <{code.width} x i32> zeroinitializer"
    )


def spread(code: Code, lanes: Lanes, layout: Layout) -> tuple[str, ...]:
    """The vectors of a value, made now if there are none yet."""
    if lanes.vectors:
        return lanes.vectors
    found: tuple[str, ...]
    if lanes.later is not None:
        found = lanes.later()
    elif lanes.near is not None:
        found = (_addresses(code, lanes.near),)
    elif lanes.stride == 0:
        types = components(lanes.type, layout)
        scalars = take_apart(code, lanes.type, lanes.scalar, layout)
        found = tuple(splat(code, *each) for each in zip(types, scalars, strict=True))
    else:
        found = (_follow(code, lanes),)
    lanes.vectors = found
    return found


def _addresses(code: Code, near: Near) -> str:
    wide = code.lanes("i64")
    index = code.value(f"{near.widening} {code.lanes('i32')} {near.indices} to {wide}")
    return code.value(f"getelementptr [{near.scale} x i8], ptr {near.base}, {wide} {index}")


def _follow(code: Code, lanes: Lanes) -> str:
    steps = [lanes.stride * lane for lane in range(code.width)]
    if isinstance(lanes.type, Pointer):
        offsets = numbers("i64", steps)
        return code.value(
            f"getelementptr i8, {lanes.type} {lanes.scalar}, {code.lanes('i64')} {offsets}"
        )
    offsets = numbers(lanes.type, [int(literal(lanes.type, each)) for each in steps])
    first = splat(code, lanes.type, lanes.scalar)
    if first == "zeroinitializer":
        return offsets
    return code.value(f"add {code.lanes(lanes.type)} {first}, {offsets}")
