"""Representations of a value: one scalar, lane 0's scalar and a stride, or vectors of lanes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from metalbench.msl.analysis.uniformity import UNIFORM, Affine, Uniformity
from metalbench.msl.ir.text import IrError, split
from metalbench.msl.ir.types import ArrayType, Float, Int, Layout, Pointer, Struct, Type, Vector
from metalbench.msl.vectorize.ir_builder import IrBuilder, format_integer, format_vector


class IndexedAddresses(NamedTuple):
    """Addresses in one array: `base`, and the lanes' 32-bit `indices`, extended by `widening`."""

    base: str
    indices: str
    widening: str  # zext or sext
    scale: int  # bytes of an element


@dataclass(slots=True)
class LaneValue:
    """A value of `type` in every lane.

    `scalar` is lane 0's value, from which lane k differs by k times `stride` (0: uniform), if
    `condition` holds at run time. `vectors` has one vector per component; empty until it is needed.
    `ends` are the values of a condition in the first and the last lane, and whether it changes at
    most once between them. `indexed` tells base and indices of addresses. `make_vectors` emits the
    vectors of a value that may never need them. `make_lane` emits one lane's value, by its number.
    """

    type: Type
    scalar: str = ""
    stride: int = 0
    condition: str = ""
    vectors: tuple[str, ...] = ()
    ends: tuple[str, str, str] | None = None
    indexed: IndexedAddresses | None = None
    make_vectors: Callable[[], tuple[str, ...]] | None = None
    make_lane: Callable[[str], str] | None = None

    @property
    def is_uniform(self) -> bool:
        """Whether one scalar stands for all lanes."""
        return bool(self.scalar) and self.stride == 0 and not self.condition

    @property
    def is_affine(self) -> bool:
        """Whether lane 0's scalar and a stride give the values of all lanes."""
        return bool(self.scalar)


def list_components(type_: Type, layout: Layout) -> list[Type]:
    """Return the scalar types that a type consists of, in order. Raise IrError."""
    type_ = layout.resolve(type_)
    if isinstance(type_, Int | Float | Pointer):
        return [type_]
    if isinstance(type_, Vector | ArrayType):
        return list_components(type_.element, layout) * type_.count
    if isinstance(type_, Struct):
        return [each for member in type_.members for each in list_components(member, layout)]
    raise IrError(f"cannot vectorize a value of type {type_}")


def list_paths(type_: Type, layout: Layout) -> list[tuple[int, ...]]:
    """Return for each component the indices of arrays, structs and vectors that lead to it."""
    type_ = layout.resolve(type_)
    if isinstance(type_, Vector | ArrayType):
        members = [type_.element] * type_.count
    elif isinstance(type_, Struct):
        members = list(type_.members)
    else:
        return [()]
    return [
        (index, *rest)
        for index, member in enumerate(members)
        for rest in list_paths(member, layout)
    ]


def list_offsets(type_: Type, layout: Layout) -> list[int]:
    """Return the offset of each component in memory, in bytes."""
    resolved = layout.resolve(type_)
    if isinstance(resolved, Int | Float | Pointer):
        return [0]
    found = []
    for index in range(_count_members(resolved)):
        start, inner = layout.member(resolved, index)
        found += [start + each for each in list_offsets(inner, layout)]
    return found


def _count_members(resolved: Type) -> int:
    """Return the number of members or elements of a type. Raise IrError."""
    if isinstance(resolved, Struct):
        return len(resolved.members)
    if isinstance(resolved, Vector | ArrayType):
        return resolved.count
    raise IrError(f"cannot vectorize a value of type {resolved}")


def split_components(ir: IrBuilder, type_: Type, value: str, layout: Layout) -> list[str]:
    """Return the components of a uniform value."""
    if value in ("poison", "undef", "zeroinitializer"):
        return [value] * len(list_components(type_, layout))
    if isinstance(type_, Vector) and value.startswith("splat ("):
        return [value[7:-1].removeprefix(f"{type_.element} ")] * type_.count
    if isinstance(type_, Vector) and value.startswith("<"):
        return [each.removeprefix(f"{type_.element} ") for each in split(value[1:-1])]
    return [
        _extract_component(ir, type_, value, path, layout) for path in list_paths(type_, layout)
    ]


def _extract_component(
    ir: IrBuilder, type_: Type, value: str, path: tuple[int, ...], layout: Layout
) -> str:
    if not path:
        return value
    resolved = layout.resolve(type_)
    if isinstance(resolved, Vector):
        return ir.emit(f"extractelement {type_} {value}, i64 {path[0]}")
    inner = layout.member(resolved, path[0])[1]
    part = ir.emit(f"extractvalue {type_} {value}, {path[0]}")
    return _extract_component(ir, inner, part, path[1:], layout)


def build_aggregate(ir: IrBuilder, type_: Type, parts: list[str], layout: Layout) -> str:
    """Return a value built from its components: the inverse of `split_components`."""
    resolved = layout.resolve(type_)
    if isinstance(resolved, Int | Float | Pointer):
        return parts[0]
    whole, at = "poison", 0
    is_vector = isinstance(resolved, Vector)
    for index in range(_count_members(resolved)):
        inner = layout.member(resolved, index)[1]
        size = len(list_components(inner, layout))
        part = build_aggregate(ir, inner, parts[at : at + size], layout)
        at += size
        if is_vector:
            whole = ir.emit(f"insertelement {type_} {whole}, {inner} {part}, i64 {index}")
        else:
            whole = ir.emit(f"insertvalue {type_} {whole}, {inner} {part}, {index}")
    return whole


def splat(ir: IrBuilder, type_: Type, scalar: str) -> str:
    """Return a vector with the same scalar in every lane."""
    if scalar in ("poison", "undef", "zeroinitializer"):
        return scalar
    if scalar == "null":
        return "zeroinitializer"
    lanes = ir.vector_type(type_)
    if scalar[0] not in "%@" and "(" not in scalar:
        return f"splat ({type_} {scalar})"
    one = ir.emit(f"insertelement {lanes} poison, {type_} {scalar}, i64 0")
    return ir.emit(
        f"shufflevector {lanes} {one}, {lanes} poison, <{ir.width} x i32> zeroinitializer"
    )


def emit_lane_vectors(ir: IrBuilder, lanes: LaneValue, layout: Layout) -> tuple[str, ...]:
    """Return the vectors of a value, and emit them if they do not exist yet."""
    if lanes.vectors:
        return lanes.vectors
    found: tuple[str, ...]
    if lanes.make_vectors is not None:
        found = lanes.make_vectors()
    elif lanes.indexed is not None:
        found = (_emit_indexed_addresses(ir, lanes.indexed),)
    elif lanes.stride == 0:
        types = list_components(lanes.type, layout)
        scalars = split_components(ir, lanes.type, lanes.scalar, layout)
        found = tuple(splat(ir, *each) for each in zip(types, scalars, strict=True))
    else:
        found = (_emit_affine_vector(ir, lanes),)
    lanes.vectors = found
    return found


def _emit_indexed_addresses(ir: IrBuilder, indexed: IndexedAddresses) -> str:
    wide = ir.vector_type("i64")
    index = ir.emit(f"{indexed.widening} {ir.vector_type('i32')} {indexed.indices} to {wide}")
    return ir.emit(f"getelementptr [{indexed.scale} x i8], ptr {indexed.base}, {wide} {index}")


def _emit_affine_vector(ir: IrBuilder, lanes: LaneValue) -> str:
    steps = [lanes.stride * lane for lane in range(ir.width)]
    if isinstance(lanes.type, Pointer):
        offsets = format_vector("i64", steps)
        return ir.emit(
            f"getelementptr i8, {lanes.type} {lanes.scalar}, {ir.vector_type('i64')} {offsets}"
        )
    offsets = format_vector(lanes.type, [int(format_integer(lanes.type, each)) for each in steps])
    first = splat(ir, lanes.type, lanes.scalar)
    if first == "zeroinitializer":
        return offsets
    return ir.emit(f"add {ir.vector_type(lanes.type)} {first}, {offsets}")


# Slots: allocas in which blocks pass values to each other.


class ValueSlots:
    """Slots by kind and name, in the representation of the value's uniformity."""

    def __init__(self, ir: IrBuilder, layout: Layout) -> None:
        self._ir = ir
        self._layout = layout
        self._slots: dict[tuple[str, str], list[str]] = {}
        self._loaded: set[tuple[str, str]] = set()
        self._stored: set[tuple[str, str]] = set()

    def check_stores(self) -> None:
        """Raise IrError if a value is loaded that no block stores."""
        for kind, name in sorted(self._loaded - self._stored):
            raise IrError(f"the slot of {kind} {name} is loaded and never stored")

    def get_slots(self, kind: str, name: str, types: Sequence[str]) -> list[str]:
        """Return the slots for parts of these types."""
        key = (kind, name)
        if key not in self._slots:
            self._slots[key] = [self._ir.alloca(each) for each in types]
        return self._slots[key]

    def load(self, kind: str, name: str, type_: Type, uniformity: Uniformity) -> LaneValue:
        """Load a value."""
        types = self._types(type_, uniformity)
        self._loaded.add((kind, name))
        values = [
            self._ir.emit(f"load {each}, ptr {slot}")
            for each, slot in zip(types, self.get_slots(kind, name, types), strict=True)
        ]
        if uniformity is UNIFORM:
            return LaneValue(type_, values[0])
        if not isinstance(uniformity, Affine):
            return LaneValue(type_, vectors=tuple(values))
        holds = values[1] if uniformity.checked else ""
        return LaneValue(type_, values[0], uniformity.stride, holds, tuple(values[2:]))

    def store(
        self,
        kind: str,
        name: str,
        lanes: LaneValue,
        uniformity: Uniformity,
        vectors: Callable[[LaneValue], tuple[str, ...]],
        *,
        only: str = "",
    ) -> None:
        """Store a value, whose vectors `vectors` emits; with a mask `only`, those of its lanes."""
        ir, types = self._ir, self._types(lanes.type, uniformity)
        slots = self.get_slots(kind, name, types)
        self._stored.add((kind, name))
        values: list[str] = []
        if uniformity is UNIFORM or isinstance(uniformity, Affine):
            values.append(lanes.scalar)
        if isinstance(uniformity, Affine) and uniformity.checked:
            values.append(lanes.condition or "true")
        own = len(values)
        if len(types) > own:
            values += vectors(lanes)
        for at, (type_, slot, value) in enumerate(zip(types, slots, values, strict=True)):
            kept = value
            if only and at >= own:
                before = ir.emit(f"load {type_}, ptr {slot}")
                kept = ir.emit(f"select {ir.mask_type} {only}, {type_} {value}, {type_} {before}")
            ir.emit_void(f"store {type_} {kept}, ptr {slot}")

    def _types(self, type_: Type, uniformity: Uniformity) -> list[str]:
        if uniformity is UNIFORM:
            return [str(type_)]
        vectors = [self._ir.vector_type(each) for each in list_components(type_, self._layout)]
        if not isinstance(uniformity, Affine):
            return vectors
        return [str(type_), "i1", *vectors] if uniformity.checked else [str(type_)]
