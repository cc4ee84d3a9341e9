"""What the parts of the emission share: values by name, their slots, the mask of active lanes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from metalbench.msl.emission.code import Code, literal
from metalbench.msl.emission.lanes import (
    Lanes,
    components,
    offsets,
    put_together,
    spread,
    take_apart,
)
from metalbench.msl.emission.machine import Machine
from metalbench.msl.ir.flow import Flow
from metalbench.msl.ir.model import Block, Function, Instruction, Phi, Value
from metalbench.msl.ir.text import IrError
from metalbench.msl.ir.types import BOOL, Layout, Type
from metalbench.msl.vector.private import Analysed
from metalbench.msl.vector.shapes import UNIFORM, VARYING, Known, Linear, Shape, as_linear


@dataclass(frozen=True)
class Launch:
    """How lanes lie in the threads of a threadgroup: `width` of them along x, or in any way."""

    width: int
    rows: bool


class Body:
    """A function of lanes while it is being written.

    Values that another block uses are kept in slots, memory of the function's own, which LLVM turns
    back into registers: so blocks may come in any order, and run any number of times.
    """

    def __init__(
        self,
        function: Function,
        flow: Flow,
        analysed: Analysed,
        launch: Launch,
        machine: Machine,
    ) -> None:
        self.code = Code(launch.width)
        self.function = function
        self.flow = flow
        self.analysed = analysed
        self.launch = launch
        self.machine = machine
        self.block: Block = function.entry
        self.here: dict[str, Instruction] = {}  # what this block defines
        self.mask = ""  # of the active lanes; empty if all are
        self.is_alone = False  # whether this is one lane by itself
        self.apart: frozenset[str] = frozenset()  # functions that lanes call one by one
        self._given: dict[str, Lanes] = {}
        self._known: dict[str, Lanes] = {}  # in this block
        self._slots: dict[tuple[str, str], list[str]] = {}
        self._arms: list[Lanes] | None = None
        self.uses = _uses_elsewhere(function, flow)
        self._data = _data(function, flow, analysed)

    @property
    def layout(self) -> Layout:
        """Of the module's types."""
        return self.function.layout

    @property
    def width(self) -> int:
        """How many lanes there are."""
        return self.code.width

    def components(self, type_: Type) -> list[Type]:
        """The scalars of a type."""
        return components(type_, self.layout)

    def offsets(self, type_: Type) -> list[int]:
        """Where in memory each of a type's scalars is, in bytes from its start."""
        return offsets(type_, self.layout)

    def is_data(self, value: Value) -> bool:
        """Whether it depends on what different lanes have loaded."""
        return value.text in self._data

    def shape(self, value: Value) -> Shape:
        """How a value differs from lane to lane, as this block sees it."""
        return self.analysed.shapes.of(value, self.block)

    def vectors(self, lanes: Lanes) -> tuple[str, ...]:
        """A value's lanes, a vector for each component."""
        if not lanes.vectors:
            spread(self.code, lanes, self.layout)
            if self._arms is not None:
                self._arms.append(lanes)
        return lanes.vectors

    def vector(self, lanes: Lanes) -> str:
        """The lanes of a scalar."""
        (found,) = self.vectors(lanes)
        return found

    @contextmanager
    def arm(self) -> Iterator[None]:
        """Code that does not run on every way: what it makes is unknown behind it."""
        known, outer, self._arms = dict(self._known), self._arms, []
        yield
        for lanes in self._arms:
            lanes.vectors = ()
        self._known, self._arms = known, outer

    def adopt(self, other: Body) -> None:
        """What another body was given from the start."""
        self._given = other._given

    def take_apart(self, type_: Type, value: str) -> list[str]:
        """The scalars that one value is made of."""
        return take_apart(self.code, type_, value, self.layout)

    def put_together(self, type_: Type, parts: list[str]) -> str:
        """One value of its scalars."""
        return put_together(self.code, type_, parts, self.layout)

    def position(self, name: str, type_: Type) -> Lanes:
        """Where the threads are that the lanes stand for, by what the marker is called."""
        if name in ("simdgroup", "arena"):
            return Lanes(type_, f"%{name}")
        if name == "lane":
            return Lanes(type_, "0", 1)
        if name == "index" or (name == "x" and self.launch.rows):
            return Lanes(type_, f"%{name}", 1)
        if self.launch.rows:
            return Lanes(type_, f"%{name}")
        offset = "xyz".index(name) * self.width * self.layout.size(type_)
        place = self.code.value(f"getelementptr i8, ptr %positions, i64 {offset}")
        lanes = self.code.lanes(type_)
        return Lanes(type_, vectors=(self.code.value(f"load {lanes}, ptr {place}, align 4"),))

    def start(self, block: Block, mask: str) -> None:
        """Another block begins: what is known of values is in their slots."""
        self.block = block
        self.mask = mask
        self.here = {each.result: each for each in block.instructions if each.result}
        self._known = {}

    def give(self, name: str, lanes: Lanes) -> None:
        """A value that is there from the start: a parameter."""
        self._given[name] = lanes

    def get(self, value: Value) -> Lanes:
        """An operand. Raises IrError."""
        if not value.is_local:
            return Lanes(value.type, value.text)
        if value.text in self._given:
            return self._given[value.text]
        if value.text not in self._known:
            self._known[value.text] = self._fetch(value)
        return self._known[value.text]

    def _fetch(self, value: Value) -> Lanes:
        own = self.analysed.shapes.of(value)
        if isinstance(own, Known):
            return self._constant(value.type, own)
        defined = self.analysed.shapes.definitions[value.text]
        if self.analysed.shapes.divergence.leaves_turns(defined, self.block):
            return self._load("turn", value.text, value.type, VARYING)
        return self._load("value", value.text, value.type, own)

    def _constant(self, type_: Type, known: Known) -> Lanes:
        items = ", ".join(f"{type_} {literal(type_, each)}" for each in known.values)
        vector = f"<{items}>"
        even = as_linear(known)
        if even is VARYING or type_ == BOOL:
            return Lanes(type_, vectors=(vector,))
        stride = even.stride if isinstance(even, Linear) else 0
        return Lanes(type_, literal(type_, known.values[0]), stride, vectors=(vector,))

    def define(self, instruction: Instruction, lanes: Lanes) -> None:
        """An instruction's result, for this block and for those that use it."""
        name = instruction.result
        if not name:
            return
        shape = self.analysed.shapes.of(Value(instruction.type, name))
        if isinstance(shape, Known):
            return
        lanes = self.fitted(lanes, shape)
        self._known[name] = lanes
        uses = self.uses.get(name, ())
        behind = [each for each in uses if self._leaves(each)]
        if len(behind) < len(uses):
            self._store("value", name, lanes, shape)
        if behind:
            self._store("turn", name, lanes, VARYING, only=self.mask)

    def _leaves(self, use: Block) -> bool:
        return self.analysed.shapes.divergence.leaves_turns(self.block, use)

    def fitted(self, lanes: Lanes, shape: Shape) -> Lanes:
        """A value in the form that its shape says."""
        if shape is UNIFORM and not lanes.is_uniform:
            raise IrError(f"{self.function.name}: a value of {self.block.name} is not uniform")
        if shape is VARYING and lanes.near is not None:
            return lanes
        if shape is VARYING and lanes.scalar:
            return Lanes(lanes.type, vectors=self.vectors(lanes))
        if isinstance(shape, Linear) and not lanes.scalar:
            raise IrError(f"{self.function.name}: a value of {self.block.name} is not linear")
        return lanes

    def keep(self, kind: str, name: str, lanes: Lanes) -> None:
        """What came out elsewhere, of active lanes: of a phi, or of the `turn` that each left."""
        shape = VARYING
        if kind == "phi":
            shape = self.analysed.shapes.of(Value(lanes.type, name))
        if not isinstance(shape, Known):
            self._store(kind, name, lanes, shape, only=self.mask)

    # Phis are assigned where blocks end.

    def phi(self, phi: Phi) -> None:
        """A phi's value, as the edges have left it."""
        shape = self.analysed.shapes.of(Value(phi.type, phi.result))
        if not isinstance(shape, Known):
            self.define(phi, self._load("phi", phi.result, phi.type, shape))

    def assign(self, phis: Sequence[tuple[Phi, Value]], only: str) -> None:
        """What phis get on an edge, all at once; `only` is its mask, where others keep theirs."""
        found = []
        for phi, value in phis:
            shape = self.analysed.shapes.of(Value(phi.type, phi.result))
            if not isinstance(shape, Known):
                lanes = self.get(value)
                found.append((phi, lanes, shape))
        for phi, lanes, shape in found:
            fits = (
                Lanes(lanes.type, "poison") if value_is_free(lanes) else self.fitted(lanes, shape)
            )
            self._store("phi", phi.result, fits, shape, only=only)

    # Slots.

    def _types(self, type_: Type, shape: Shape) -> list[str]:
        if shape is UNIFORM:
            return [str(type_)]
        vectors = [self.code.lanes(each) for each in self.components(type_)]
        if not isinstance(shape, Linear):
            return vectors
        return [str(type_), "i1", *vectors] if shape.checked else [str(type_)]

    def _slot(self, kind: str, name: str, types: Sequence[str]) -> list[str]:
        key = (kind, name)
        if key not in self._slots:
            self._slots[key] = [self.code.variable(each) for each in types]
        return self._slots[key]

    def _load(self, kind: str, name: str, type_: Type, shape: Shape) -> Lanes:
        types = self._types(type_, shape)
        slots = self._slot(kind, name, types)
        values = [
            self.code.value(f"load {each}, ptr {slot}")
            for each, slot in zip(types, slots, strict=True)
        ]
        if shape is UNIFORM:
            return Lanes(type_, values[0])
        if not isinstance(shape, Linear):
            return Lanes(type_, vectors=tuple(values))
        holds = values[1] if shape.checked else ""
        return Lanes(type_, values[0], shape.stride, holds, tuple(values[2:]))

    def _store(self, kind: str, name: str, lanes: Lanes, shape: Shape, only: str = "") -> None:
        types = self._types(lanes.type, shape)
        slots = self._slot(kind, name, types)
        if shape is UNIFORM:
            values = [lanes.scalar]
        elif not isinstance(shape, Linear):
            values = list(self.vectors(lanes))
        elif shape.checked:
            values = [lanes.scalar, lanes.holds or "true", *self.vectors(lanes)]
        else:
            values = [lanes.scalar]
        # Behind what the first lane's value tells are the lanes' own, if anything is.
        own = 0 if shape is VARYING else 2
        for at, (type_, slot, value) in enumerate(zip(types, slots, values, strict=True)):
            if only and at >= own:
                before = self.code.value(f"load {type_}, ptr {slot}")
                value = self.code.value(
                    f"select {self.code.mask} {only}, {type_} {value}, {type_} {before}"
                )
            self.code.line(f"store {type_} {value}, ptr {slot}")


def value_is_free(lanes: Lanes) -> bool:
    """Whether it may be anything."""
    return lanes.scalar in ("poison", "undef")


def mask_of(body: Body) -> str:
    """The active lanes as an operand."""
    return body.mask or "splat (i1 true)"


def bits_of(body: Body) -> str:
    """The active lanes as a number."""
    if not body.mask:
        return "-1"
    return body.code.value(f"bitcast {body.code.mask} {body.mask} to {body.code.bits}")


def _uses_elsewhere(function: Function, flow: Flow) -> dict[str, set[Block]]:
    """Which blocks use a value that another one defines; a phi uses it where its edge comes from."""
    defined = {each.result: block for block, each in function.instructions if each.result}
    uses: dict[str, set[Block]] = {}
    for block in flow.order:
        for each in block.instructions:
            sources = each.sources if isinstance(each, Phi) else ()
            for at, operand in enumerate(each.operands):
                user = function.blocks[sources[at]] if sources else block
                if defined.get(operand.text, user) is not user:
                    uses.setdefault(operand.text, set()).add(user)
    return uses


def _data(function: Function, flow: Flow, analysed: Analysed) -> set[str]:
    """The values that depend on what different lanes have loaded."""
    found: set[str] = set()
    before = -1
    while before != len(found):
        before = len(found)
        for block in flow.order:
            for each in block.instructions:
                if not each.result or each.result in found:
                    continue
                varies = analysed.shapes.of(Value(each.type, each.result)) is VARYING
                loads = each.opcode in ("load", "atomicrmw", "cmpxchg", "call")
                if varies and (loads or any(value.text in found for value in each.operands)):
                    found.add(each.result)
    return found
