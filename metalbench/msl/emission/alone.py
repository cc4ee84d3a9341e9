"""Where lanes part: each goes its way alone, from the branch to where all meet.

That takes little code, and little time where it is rare, as at the edges of arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from metalbench.msl.emission.body import Body, bits_of
from metalbench.msl.emission.lanes import Lanes
from metalbench.msl.emission.one_by_one import (
    from_lane,
    keep,
    kept,
    laid_out,
    of_lane,
    over_lanes,
    stored,
)
from metalbench.msl.emission.ways import choose
from metalbench.msl.ir.model import Block, Instruction, Phi, Value
from metalbench.msl.ir.types import Type
from metalbench.msl.vector.divergence import Region
from metalbench.msl.vector.shapes import UNIFORM, VARYING, Known, Linear

Emit = Callable[[Body, Instruction], None]


class Alone(Body):
    """A body of one lane: every value is that lane's own."""

    def __init__(self, all_: Body, inside: frozenset[Block], lane: str) -> None:
        super().__init__(all_.kernel, all_.code)
        self.is_alone = True
        self._inside = inside
        self._lane = lane
        self._inputs: dict[str, Lanes] = {}

    def enter(self, value: Value, scalar: str) -> None:
        """What the lane brings with it; what may be computed anew has a slot."""
        lanes = Lanes(value.type, scalar)
        if self.analysed.shapes.definitions[value.text] in self._inside:
            self._put("value", value.text, lanes)
        else:
            self._inputs[value.text] = lanes

    def get(self, value: Value) -> Lanes:
        """An operand, as this lane has it."""
        if not value.is_local:
            return Lanes(value.type, value.text)
        known = self._given.get(value.text) or self._inputs.get(value.text)
        if known is None:
            known = self._known.get(value.text)
        if known is None:
            known = self._known[value.text] = self._take("value", value.text, value.type)
        return known

    def is_known(self, instruction: Instruction) -> bool:
        """Never: what is known is so of all lanes."""
        return False

    def define(self, instruction: Instruction, lanes: Lanes) -> None:
        """An instruction's result."""
        if instruction.result:
            self._known[instruction.result] = lanes
            if self.kernel.uses.get(instruction.result):
                self._put("value", instruction.result, lanes)

    def phi(self, phi: Phi) -> None:
        """A phi's value, as the edge has left it."""
        self.define(phi, self._take("phi", phi.result, phi.type))

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


class Walk:
    """The ways of some lanes through a region, and what comes out at its end."""

    def __init__(self, body: Body, region: Region, lanes: str, emit: Emit) -> None:
        self._body = body
        self._lanes = lanes
        self._code = body.code
        self._region = region
        self._emit = emit
        self._stem = body.code.fresh("alone")
        self._next = f"{self._stem}.met"
        self._results: list[tuple[str, str, Type, list[str]]] = []

    def write(self) -> None:
        """Go on, in the branch's own block, until all lanes have met."""
        body = self._body
        for kind, name, type_ in self._outputs():
            slots = [
                self._code.variable(self._code.lanes(stored(each)))
                for each in body.components(type_)
            ]
            self._results.append((kind, name, type_, slots))
        inputs = self._inputs()
        memory = [laid_out(body, body.get(each)) for each in inputs]

        def run(lane: str) -> None:
            alone = Alone(body, self._region.blocks | {self._region.branch}, lane)
            alone.adopt(body)
            for value, slots in zip(inputs, memory, strict=True):
                alone.enter(value, of_lane(body, body.get(value), slots, lane))
            alone.start(self._region.branch, "")
            self._leave(alone, self._region.branch, lane)
            for block in body.flow.order:
                if block in self._region.blocks:
                    self._block(alone, block, lane)
            self._code.label(self._next)

        everyone, body.mask = body.mask, self._lanes
        over_lanes(body, run)
        for kind, name, type_, slots in self._results:
            body.keep(kind, name, self._result(kind, name, type_, slots))
        body.mask = everyone

    def _inputs(self) -> list[Value]:
        """What lanes bring: values that are used, and were there before they parted."""
        body, branch = self._body, self._region.branch
        definitions = body.analysed.shapes.definitions
        found: dict[str, Value] = {}
        for value in self._used():
            defined = definitions.get(value.text)
            if defined is not None and body.flow.dominates(defined, branch):
                found[value.text] = value
        return list(found.values())

    def _used(self) -> Iterable[Value]:
        inside, branch = self._region.blocks, self._region.branch
        blocks = [block for block in self._body.flow.order if block in inside]
        for block in blocks:
            for each in block.instructions:
                if not isinstance(each, Phi):
                    yield from each.operands
        yield from branch.terminator.operands
        for block in (*blocks, self._region.join):
            for phi in block.phis if block.instructions else ():
                for value, source in zip(phi.operands, phi.sources, strict=True):
                    where = self._body.function.blocks.get(source)
                    if where in inside or where is branch:
                        yield value
        for _, name, type_ in self._turns():
            yield Value(type_, name)

    def _outputs(self) -> Iterable[tuple[str, str, Type]]:
        join = self._region.join
        for phi in join.phis if join.instructions else ():
            yield "phi", phi.result, phi.type
        yield from self._turns()

    def _turns(self) -> Iterable[tuple[str, str, Type]]:
        """What lanes have computed in the last turn of a loop that they leave here."""
        inside = self._region.blocks | {self._region.branch}
        divergence = self._body.analysed.shapes.divergence
        for block in self._body.flow.order:
            if block not in inside:
                continue
            for each in block.instructions:
                uses = self._body.kernel.uses.get(each.result, ())
                if any(use not in inside and divergence.leaves_turns(block, use) for use in uses):
                    yield "turn", each.result, each.type

    def _label(self, block: Block) -> str:
        return f"{self._stem}.{self._body.flow.position[block]}"

    def _block(self, alone: Alone, block: Block, lane: str) -> None:
        self._code.label(self._label(block))
        alone.start(block, "")
        for each in block.instructions[:-1]:
            if each.place:
                self._code.place = each.place
            if isinstance(each, Phi):
                alone.phi(each)
            else:
                self._emit(alone, each)
        self._leave(alone, block, lane)

    def _leave(self, alone: Alone, block: Block, lane: str) -> None:
        """By a block's own branch."""
        if not block.successors:
            self._code.jump(self._next)
            return
        if len(block.successors) == 1:
            self._go(alone, block, block.successors[0], lane)
            return
        (condition,) = block.terminator.operands
        scalar = alone.get(condition).scalar
        choose(alone, block, scalar, lambda target: self._go(alone, block, target, lane))

    def _go(self, alone: Alone, source: Block, target: Block, lane: str) -> None:
        at = (
            {phi.result: phi.operands[phi.sources.index(source.name)] for phi in target.phis}
            if (target.instructions)
            else {}
        )
        if target is not self._region.join:
            alone.assign([(phi, at[phi.result]) for phi in target.phis], "")
            self._code.jump(self._label(target))
            return
        for kind, name, type_, slots in self._results:
            value = at[name] if kind == "phi" else Value(type_, name)
            scalar = alone.get(value).scalar
            parts = alone.take_apart(type_, scalar)
            for each, slot, part in zip(alone.components(type_), slots, parts, strict=True):
                keep(alone, each, slot, lane, part)
        self._code.jump(self._next)

    def _result(self, kind: str, name: str, type_: Type, slots: list[str]) -> Lanes:
        """What all lanes have brought, in the form that its shape says."""
        body = self._body
        kinds = body.components(type_)
        vectors = tuple(kept(body, each, slot) for each, slot in zip(kinds, slots, strict=True))
        shape = body.analysed.shapes.of(Value(type_, name))
        if kind == "turn" or shape is VARYING or isinstance(shape, Known):
            return Lanes(type_, vectors=vectors)
        code, bits = self._code, self._code.bits
        first = code.first(bits_of(body))
        firsts = [
            code.value(f"extractelement {code.lanes(each)} {vector}, {bits} {first}")
            for each, vector in zip(kinds, vectors, strict=True)
        ]
        scalar = body.put_together(type_, firsts)
        if not isinstance(shape, Linear):
            return Lanes(type_, scalar)
        lane = code.value(f"zext {bits} {first} to i64")
        zero = from_lane(body, Lanes(type_, scalar, -shape.stride), lane)
        return Lanes(type_, zero, shape.stride, "false" if shape.checked else "", vectors)
