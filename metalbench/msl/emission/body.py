"""What the parts of the emission share: values by name, their slots, the mask of active lanes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
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
from metalbench.msl.emission.slots import Slots
from metalbench.msl.ir.flow import Flow
from metalbench.msl.ir.model import Block, Function, Instruction, Phi, Value
from metalbench.msl.ir.places import Places
from metalbench.msl.ir.text import IrError
from metalbench.msl.ir.types import BOOL, Layout, Type
from metalbench.msl.vector.private import FunctionAnalysis
from metalbench.msl.vector.shapes import UNIFORM, VARYING, Affine, Constant, Uniformity, to_affine


@dataclass(frozen=True)
class Launch:
    """How lanes lie in the threads of a threadgroup: `width` of them along x, or in any way."""

    width: int
    rows: bool


@dataclass(frozen=True)
class Kernel:
    """What is known of a function of one lane before it is written for all.

    Lanes call the functions `apart` one by one. `uses` says which other blocks use a value;
    `loaded` are the values that depend on what different lanes have loaded, `idle` those that
    nothing comes of, `in_threadgroup` addresses in threadgroup memory, and `derived` instructions
    are repeated wherever their results are used.
    """

    function: Function
    flow: Flow
    analysis: FunctionAnalysis
    launch: Launch
    machine: Machine
    apart: frozenset[str]
    uses: Mapping[str, set[Block]]
    loaded: frozenset[str]
    idle: frozenset[str]
    in_threadgroup: frozenset[str]
    derived: Mapping[str, Instruction]


Write = Callable[["Body", Instruction], Lanes | None]


class Body:
    """A function of lanes while it is being written.

    Values that another block uses are kept in slots, memory of the function's own, which LLVM turns
    back into registers: so blocks may come in any order, and run any number of times. `write` gives
    the result of an instruction that is neither a phi nor a terminator.
    """

    def __init__(self, kernel: Kernel, code: Code, places: Places, write: Write) -> None:
        self.kernel = kernel
        self.write = write
        self.code = code
        self.places = places
        self.function = kernel.function
        self.flow = kernel.flow
        self.analysis = kernel.analysis
        self.launch = kernel.launch
        self.machine = kernel.machine
        self.slots = Slots(code, kernel.function.layout)
        self.block: Block = kernel.function.entry
        self.here: dict[str, Instruction] = {}  # what this block defines
        self.mask = ""  # of the active lanes; empty if all are
        self.is_alone = False  # whether this is one lane by itself
        self._given: dict[str, Lanes] = {}
        self._known: dict[str, Lanes] = {}  # in this block
        self._arms: list[Lanes] | None = None

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
        return value.text in self.kernel.loaded

    def is_known(self, instruction: Instruction) -> bool:
        """Whether its result is a constant in every lane, which takes no code."""
        shapes = self.analysis.uniformity.by_name
        return isinstance(shapes.get(instruction.result), Constant)

    def uniformity(self, value: Value) -> Uniformity:
        """How a value differs from lane to lane, as this block sees it."""
        return self.analysis.uniformity.get(value, self.block)

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

    @property
    def given(self) -> dict[str, Lanes]:
        """What is there from the start, by name."""
        return self._given

    def at(self, instruction: Instruction) -> None:
        """What is written from now on is for this instruction."""
        if instruction.place:
            self.code.place = self.places.of(instruction.place)

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
        instruction = self.kernel.derived.get(value.text)
        if instruction is not None:
            return self._repeat(instruction)
        own = self.analysis.uniformity.get(value)
        if isinstance(own, Constant):
            return self._constant(value.type, own)
        defined = self.analysis.uniformity.definitions[value.text]
        if self.analysis.uniformity.divergence.is_temporally_divergent(defined, self.block):
            return self.slots.load("turn", value.text, value.type, VARYING)
        return self.slots.load("value", value.text, value.type, own)

    def _repeat(self, instruction: Instruction) -> Lanes:
        """What a derived instruction gives."""
        found = self.write(self, instruction)
        assert found is not None
        uniformity = self.analysis.uniformity.get(Value(instruction.type, instruction.result))
        return self.fitted(found, uniformity)

    def _constant(self, type_: Type, known: Constant) -> Lanes:
        items = ", ".join(f"{type_} {literal(type_, each)}" for each in known.values)
        vector = f"<{items}>"
        even = to_affine(known)
        if even is VARYING or type_ == BOOL:
            return Lanes(type_, vectors=(vector,))
        stride = even.stride if isinstance(even, Affine) else 0
        return Lanes(type_, literal(type_, known.values[0]), stride, vectors=(vector,))

    def define(self, instruction: Instruction, lanes: Lanes) -> None:
        """An instruction's result, for this block and for those that use it."""
        name = instruction.result
        if not name:
            return
        uniformity = self.analysis.uniformity.get(Value(instruction.type, name))
        if isinstance(uniformity, Constant):
            return
        lanes = self.fitted(lanes, uniformity)
        self._known[name] = lanes
        if name in self.kernel.derived:
            return
        uses = self.kernel.uses.get(name, ())
        behind = [each for each in uses if self._leaves(each)]
        if len(behind) < len(uses):
            self._store("value", name, lanes, uniformity)
        if behind:
            self._store("turn", name, lanes, VARYING, only=self.mask)

    def _leaves(self, use: Block) -> bool:
        return self.analysis.uniformity.divergence.is_temporally_divergent(self.block, use)

    def fitted(self, lanes: Lanes, uniformity: Uniformity) -> Lanes:
        """A value in the form that its shape says."""
        if uniformity is UNIFORM and not lanes.is_uniform:
            raise IrError(f"{self.function.name}: a value of {self.block.name} is not uniform")
        if uniformity is VARYING and lanes.near is not None:
            return lanes
        if uniformity is VARYING and lanes.scalar:
            return Lanes(lanes.type, vectors=self.vectors(lanes))
        if isinstance(uniformity, Affine) and not lanes.scalar:
            raise IrError(f"{self.function.name}: a value of {self.block.name} is not linear")
        return lanes

    def keep(self, kind: str, name: str, lanes: Lanes) -> None:
        """What came out elsewhere, of active lanes: of a phi, or of the `turn` that each left."""
        is_phi = kind == "phi"
        uniformity = self.analysis.uniformity.get(Value(lanes.type, name)) if is_phi else VARYING
        if not isinstance(uniformity, Constant):
            self._store(kind, name, lanes, uniformity, only=self.mask)

    # Phis are assigned where blocks end.

    def phi(self, phi: Phi) -> None:
        """A phi's value, as the edges have left it."""
        uniformity = self.analysis.uniformity.get(Value(phi.type, phi.result))
        if not isinstance(uniformity, Constant):
            self.define(phi, self.slots.load("phi", phi.result, phi.type, uniformity))

    def assign(self, phis: Sequence[tuple[Phi, Value]], only: str) -> None:
        """What phis get on an edge, all at once; `only` is its mask, where others keep theirs."""
        found = []
        for phi, value in phis:
            uniformity = self.analysis.uniformity.get(Value(phi.type, phi.result))
            if not isinstance(uniformity, Constant):
                lanes = self.get(value)
                found.append((phi, lanes, uniformity))
        for phi, lanes, uniformity in found:
            free = lanes.scalar in ("poison", "undef")
            fits = Lanes(lanes.type, "poison") if free else self.fitted(lanes, uniformity)
            self._store("phi", phi.result, fits, uniformity, only=only)

    def _store(
        self, kind: str, name: str, lanes: Lanes, uniformity: Uniformity, *, only: str = ""
    ) -> None:
        self.slots.store(kind, name, lanes, uniformity, self.vectors, only=only)


def mask_of(body: Body) -> str:
    """The active lanes as an operand."""
    return body.mask or "splat (i1 true)"


def bits_of(body: Body) -> str:
    """The active lanes as a number."""
    if not body.mask:
        return "-1"
    return body.code.number(body.mask)
