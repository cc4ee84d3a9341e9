"""A lane that goes its way alone: a body of scalars."""

from __future__ import annotations

from collections.abc import Iterable

from metalbench.msl.emission.body import Body
from metalbench.msl.emission.code import Code
from metalbench.msl.emission.lanes import Lanes
from metalbench.msl.ir.model import Instruction, Phi, Value
from metalbench.msl.ir.places import Places
from metalbench.msl.ir.types import Type
from metalbench.msl.vector.shapes import UNIFORM


class Alone(Body):
    """A body of one lane: every value is that lane's own."""

    def __init__(self, all_: Body, code: Code, places: Places, lane: str) -> None:
        super().__init__(all_.kernel, code, places, all_.write)
        self.is_alone = True
        self._lane = lane
        self._given = all_.given

    def enter(self, value: Value, scalar: str) -> None:
        """What the lane brings with it."""
        self._put("value", value.text, Lanes(value.type, scalar))

    def get(self, value: Value) -> Lanes:
        """An operand, as this lane has it."""
        if not value.is_local:
            return Lanes(value.type, value.text)
        known = self._given.get(value.text) or self._known.get(value.text)
        if known is None:
            known = self._known[value.text] = self._fetch(value)
        return known

    def _fetch(self, value: Value) -> Lanes:
        instruction = self.kernel.derived.get(value.text)
        if instruction is None:
            return self._take("value", value.text, value.type)
        found = self.write(self, instruction)
        assert found is not None
        return found

    def is_known(self, instruction: Instruction) -> bool:
        """Never: what is known is so of all lanes."""
        return False

    def define(self, instruction: Instruction, lanes: Lanes) -> None:
        """An instruction's result."""
        if instruction.result:
            self._known[instruction.result] = lanes
            is_derived = instruction.result in self.kernel.derived
            if not is_derived and self.kernel.uses.get(instruction.result):
                self._put("value", instruction.result, lanes)

    def phi(self, phi: Phi) -> None:
        """A phi's value, as the edge has left it."""
        self.define(phi, self.left(phi.result, phi.type))

    def left(self, phi: str, type_: Type) -> Lanes:
        """What an edge has left for a phi."""
        return self._take("phi", phi, type_)

    def assign(self, phis: Iterable[tuple[Phi, Value]], only: str) -> None:
        """What phis get on an edge, all at once."""
        found = [(phi, self.get(value)) for phi, value in phis]
        for phi, lanes in found:
            self._put("phi", phi.result, lanes)

    def position(self, name: str, type_: Type) -> Lanes:
        """Where this lane's thread is."""
        if name in ("simdgroup", "arena"):
            return Lanes(type_, f"%{name}")
        lane = self.code.value(f"trunc i64 {self._lane} to {type_}")
        if name == "lane":
            return Lanes(type_, lane)
        if name == "index" or (name == "x" and self.launch.rows):
            return Lanes(type_, self.code.value(f"add {type_} %{name}, {lane}"))
        if self.launch.rows:
            return Lanes(type_, f"%{name}")
        first = "xyz".index(name) * self.width
        at = self.code.value(f"add i64 {self._lane}, {first}")
        place = self.code.value(f"getelementptr {type_}, ptr %positions, i64 {at}")
        return Lanes(type_, self.code.value(f"load {type_}, ptr {place}, align 4"))

    def _take(self, kind: str, name: str, type_: Type) -> Lanes:
        return self.slots.load(kind, name, type_, UNIFORM)

    def _put(self, kind: str, name: str, lanes: Lanes) -> None:
        self._store(kind, name, lanes, UNIFORM)
