"""Scalar emitter: emits the code of one lane in a scalar region."""

from __future__ import annotations

from collections.abc import Iterable

from metalbench.msl.emission.body import Emitter
from metalbench.msl.emission.code import IrBuilder
from metalbench.msl.emission.lanes import LaneValue
from metalbench.msl.ir.model import Instruction, Phi, Value
from metalbench.msl.ir.places import Places
from metalbench.msl.ir.types import Type
from metalbench.msl.vector.shapes import UNIFORM


class ScalarEmitter(Emitter):
    """An emitter for one lane: every value is a scalar."""

    def __init__(self, vector_emitter: Emitter, ir: IrBuilder, places: Places, lane: str) -> None:
        super().__init__(vector_emitter.kernel, ir, places, vector_emitter.emit_instruction)
        self.is_scalar = True
        self._lane = lane
        self._parameters = vector_emitter.parameters

    def define_live_in(self, value: Value, scalar: str) -> None:
        """Define a live-in value of the lane."""
        self._store_slot("value", value.text, LaneValue(value.type, scalar))

    def get(self, value: Value) -> LaneValue:
        """Return an operand as a scalar."""
        if not value.is_local:
            return LaneValue(value.type, value.text)
        known = self._parameters.get(value.text) or self._values.get(value.text)
        if known is None:
            known = self._values[value.text] = self._fetch(value)
        return known

    def _fetch(self, value: Value) -> LaneValue:
        instruction = self.kernel.rematerialised.get(value.text)
        if instruction is None:
            return self._load_slot("value", value.text, value.type)
        found = self.emit_instruction(self, instruction)
        assert found is not None
        return found

    def is_constant(self, instruction: Instruction) -> bool:
        """Return False: constants are only known for all lanes together."""
        return False

    def define(self, instruction: Instruction, lanes: LaneValue) -> None:
        """Define the result of an instruction."""
        if instruction.result:
            self._values[instruction.result] = lanes
            is_derived = instruction.result in self.kernel.rematerialised
            if not is_derived and self.kernel.uses.get(instruction.result):
                self._store_slot("value", instruction.result, lanes)

    def load_phi(self, phi: Phi) -> None:
        """Define a phi by the value that the taken edge stored."""
        self.define(phi, self.load_phi_slot(phi.result, phi.type))

    def load_phi_slot(self, phi: str, type_: Type) -> LaneValue:
        """Return the value that the taken edge stored for a phi."""
        return self._load_slot("phi", phi, type_)

    def assign_phis(self, phis: Iterable[tuple[Phi, Value]], only: str) -> None:
        """Store the values of all phis on an edge, after all of them are loaded."""
        found = [(phi, self.get(value)) for phi, value in phis]
        for phi, lanes in found:
            self._store_slot("phi", phi.result, lanes)

    def emit_position(self, name: str, type_: Type) -> LaneValue:
        """Return the position of this lane's thread, by the marker's name."""
        if name in ("simdgroup", "arena"):
            return LaneValue(type_, f"%{name}")
        lane = self.ir.emit(f"trunc i64 {self._lane} to {type_}")
        if name == "lane":
            return LaneValue(type_, lane)
        if name == "index" or (name == "x" and self.launch.rows):
            return LaneValue(type_, self.ir.emit(f"add {type_} %{name}, {lane}"))
        if self.launch.rows:
            return LaneValue(type_, f"%{name}")
        first = "xyz".index(name) * self.width
        at = self.ir.emit(f"add i64 {self._lane}, {first}")
        place = self.ir.emit(f"getelementptr {type_}, ptr %positions, i64 {at}")
        return LaneValue(type_, self.ir.emit(f"load {type_}, ptr {place}, align 4"))

    def _load_slot(self, kind: str, name: str, type_: Type) -> LaneValue:
        return self.slots.load(kind, name, type_, UNIFORM)

    def _store_slot(self, kind: str, name: str, lanes: LaneValue) -> None:
        self._store_slots(kind, name, lanes, UNIFORM)
