"""Slots: allocas in which blocks pass values to each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from metalbench.msl.emission.code import IrBuilder
from metalbench.msl.emission.lanes import LaneValue, list_components
from metalbench.msl.ir.types import Layout, Type
from metalbench.msl.vector.shapes import UNIFORM, Affine, Uniformity


class ValueSlots:
    """Slots by kind and name, in the representation of the value's uniformity."""

    def __init__(self, ir: IrBuilder, layout: Layout) -> None:
        self._ir = ir
        self._layout = layout
        self._slots: dict[tuple[str, str], list[str]] = {}

    def get_slots(self, kind: str, name: str, types: Sequence[str]) -> list[str]:
        """Return the slots for parts of these types."""
        key = (kind, name)
        if key not in self._slots:
            self._slots[key] = [self._ir.alloca(each) for each in types]
        return self._slots[key]

    def load(self, kind: str, name: str, type_: Type, uniformity: Uniformity) -> LaneValue:
        """Load a value."""
        types = self._types(type_, uniformity)
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
