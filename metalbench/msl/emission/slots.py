"""Memory of the function's own, in which blocks leave values for each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from metalbench.msl.emission.code import Code
from metalbench.msl.emission.lanes import Lanes, components
from metalbench.msl.ir.types import Layout, Type
from metalbench.msl.vector.shapes import UNIFORM, Affine, Uniformity


class Slots:
    """A slot for every `kind` of value of a name: in the form that its shape says."""

    def __init__(self, code: Code, layout: Layout) -> None:
        self._code = code
        self._layout = layout
        self._slots: dict[tuple[str, str], list[str]] = {}

    def of(self, kind: str, name: str, types: Sequence[str]) -> list[str]:
        """Where parts of these types are."""
        key = (kind, name)
        if key not in self._slots:
            self._slots[key] = [self._code.variable(each) for each in types]
        return self._slots[key]

    def load(self, kind: str, name: str, type_: Type, uniformity: Uniformity) -> Lanes:
        """What was left there."""
        types = self._types(type_, uniformity)
        values = [
            self._code.value(f"load {each}, ptr {slot}")
            for each, slot in zip(types, self.of(kind, name, types), strict=True)
        ]
        if uniformity is UNIFORM:
            return Lanes(type_, values[0])
        if not isinstance(uniformity, Affine):
            return Lanes(type_, vectors=tuple(values))
        holds = values[1] if uniformity.checked else ""
        return Lanes(type_, values[0], uniformity.stride, holds, tuple(values[2:]))

    def store(
        self,
        kind: str,
        name: str,
        lanes: Lanes,
        uniformity: Uniformity,
        vectors: Callable[[Lanes], tuple[str, ...]],
        *,
        only: str = "",
    ) -> None:
        """Leave a value there, of which `vectors` makes vectors; `only` some lanes' own."""
        code, types = self._code, self._types(lanes.type, uniformity)
        slots = self.of(kind, name, types)
        values: list[str] = []
        if uniformity is UNIFORM or isinstance(uniformity, Affine):
            values.append(lanes.scalar)
        if isinstance(uniformity, Affine) and uniformity.checked:
            values.append(lanes.holds or "true")
        own = len(values)
        if len(types) > own:
            values += vectors(lanes)
        for at, (type_, slot, value) in enumerate(zip(types, slots, values, strict=True)):
            kept = value
            if only and at >= own:
                before = code.value(f"load {type_}, ptr {slot}")
                kept = code.value(f"select {code.mask} {only}, {type_} {value}, {type_} {before}")
            code.line(f"store {type_} {kept}, ptr {slot}")

    def _types(self, type_: Type, uniformity: Uniformity) -> list[str]:
        if uniformity is UNIFORM:
            return [str(type_)]
        vectors = [self._code.lanes(each) for each in components(type_, self._layout)]
        if not isinstance(uniformity, Affine):
            return vectors
        return [str(type_), "i1", *vectors] if uniformity.checked else [str(type_)]
