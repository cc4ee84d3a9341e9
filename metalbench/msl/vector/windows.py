"""Ways that not all lanes of a SIMD-group take at once, as behind the last whole group of elements.

Code that reads four elements a lane where they are there, and one by one where an array ends, comes
to the latter with few lanes: all of them would have to be within four elements of the end. To say
so of a way that they do take together costs time, and nothing else: lanes may always go alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from metalbench.msl.ir.flow import Flow
from metalbench.msl.ir.model import Block, Compare, Function, Instruction, Phi, Value
from metalbench.msl.ir.types import POINTER
from metalbench.msl.vector.analysis import Shapes
from metalbench.msl.vector.shapes import UNIFORM, Known, Linear, as_linear

_NARROW = 8  # elements that a lane has at once, mostly; lanes apart are at least as far
_OF_CONDITIONS = ("and", "or", "xor", "select", "freeze")
_NEGATED = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq"}
_TURNED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}


@dataclass(frozen=True)
class _Bound:
    """That a uniform value is at least, or at most, so much more than a lane's own one."""

    own: str
    uniform: str
    least: int | None = None
    most: int | None = None


class Windows:
    """What is known of lanes where they part: in which bounds of theirs they are there."""

    def __init__(self, function: Function, flow: Flow, shapes: Shapes, width: int) -> None:
        self._flow = flow
        self._shapes = shapes
        self._definitions = function.definitions()
        self._width = width
        self._known: dict[Block, tuple[_Bound, ...]] = {}
        for block in flow.order:  # behind those that reach it without going back
            self._known[block] = tuple(self._holds(block))

    def is_at_an_end(self, block: Block) -> bool:
        """Whether a block's branch only tells how far lanes are from the ends of what there is."""
        terminator = block.terminator
        return terminator.opcode == "br" and self._tells_ends(terminator.operands[0])

    def _tells_ends(self, condition: Value) -> bool:
        if self._is_uniform(condition.text):
            return True
        instruction = self._definitions.get(condition.text)
        if instruction is None:
            return False
        if isinstance(instruction, Compare) and instruction.opcode == "icmp":
            uniform = [each for each in instruction.operands if self._is_uniform(each.text)]
            if len(uniform) != 1:
                return False
            (own,) = (each for each in instruction.operands if each is not uniform[0])
            return uniform[0].is_local or (uniform[0].text == "null" and self._tells_ends(own))
        if instruction.opcode == "select" and instruction.type == POINTER:
            return self._tells_ends(instruction.operands[0])
        return instruction.opcode in _OF_CONDITIONS and all(
            map(self._tells_ends, instruction.operands)
        )

    def is_narrow(self, block: Block, target: Block, *, sure: bool = False) -> bool:
        """Whether the way to `target` is none that all lanes take from a block's branch.

        Lanes that do not follow each other are taken to lie apart unless it must be `sure`.
        """
        shape = self._shapes.of(block.terminator.operands[0])
        if isinstance(shape, Known) and len(set(shape.values)) > 1:
            return True
        found: dict[tuple[str, str], tuple[list[int], list[int]]] = {}
        for bound in (*self._known[block], *self._of_way(block, target)):
            least, most = found.setdefault((bound.own, bound.uniform), ([], []))
            least += [] if bound.least is None else [bound.least]
            most += [] if bound.most is None else [bound.most]
        return any(
            least and most and self._is_within(*names, min(most) - max(least), sure=sure)
            for names, (least, most) in found.items()
        )

    def _is_within(self, own: str, uniform: str, room: int, *, sure: bool) -> bool:
        """Whether lanes lie too far from each other for all of them to have that much room."""
        shape = as_linear(self._shapes.shapes.get(own, UNIFORM))
        if isinstance(shape, Linear):
            return room < (self._width - 1) * abs(shape.stride)
        return not sure and bool(uniform) and room < _NARROW

    def _holds(self, block: Block) -> Iterator[_Bound]:
        """What holds in a block, of the branches behind which it lies."""
        above = self._flow.dominator.get(block)
        if above is not None and above is not block:
            yield from self._known[above]
        if len(block.predecessors) == 1:
            yield from self._of_way(block.predecessors[0], block)
        elif block.predecessors:
            for phi in block.phis:
                yield from self._of_phi(block, phi)

    def _of_phi(self, block: Block, phi: Phi) -> Iterator[_Bound]:
        """What is known of a value by whichever way it comes, as of a loop's number of turns.

        Of what goes back to a loop's start, that is what the branch says which leads there.
        """
        before = {each.name: each for each in block.predecessors}
        ways = []
        for value, source in zip(phi.operands, phi.sources, strict=True):
            base, more = self._sum(value)
            there = self._known.get(before[source], ())
            bounds = (*there, *self._of_way(before[source], block))
            ways.append([(each, more) for each in bounds if each.own == base])
        for uniform in dict.fromkeys(each.uniform for each, _ in ways[0]):
            here = [[(each, more) for each, more in way if each.uniform == uniform] for way in ways]
            least = [[b.least - more for b, more in way if b.least is not None] for way in here]
            most = [[b.most - more for b, more in way if b.most is not None] for way in here]
            if all(least):
                yield _Bound(phi.result, uniform, least=min(map(max, least)))
            if all(most):
                yield _Bound(phi.result, uniform, most=max(map(min, most)))

    def _of_way(self, block: Block, target: Block) -> tuple[_Bound, ...]:
        terminator = block.terminator
        if terminator.opcode != "br" or len(block.successors) < 2:
            return ()
        is_so = terminator.targets[0] == target.name
        return tuple(self._bounds(terminator.operands[0], is_so=is_so))

    def _bounds(self, condition: Value, *, is_so: bool) -> Iterator[_Bound]:
        """What follows of a condition that is so, or is not."""
        instruction = self._definitions.get(condition.text)
        if instruction is None:
            return
        for each in _parts(instruction, is_so=is_so):
            yield from self._bounds(each, is_so=is_so)
        if isinstance(instruction, Compare) and instruction.opcode == "icmp":
            yield from self._compared(instruction, is_so=is_so)

    def _compared(self, compare: Compare, *, is_so: bool) -> Iterator[_Bound]:
        order = compare.predicate[-2:]
        order = order if is_so else _NEGATED[order]
        first, second = (self._sum(each) for each in compare.operands)
        if self._is_uniform(first[0]):
            first, second, order = second, first, _TURNED[order]
        (own, more), (uniform, less) = first, second
        if self._is_uniform(own) or not self._is_uniform(uniform):
            return
        if order == "eq" and not isinstance(as_linear(self._shapes.shapes[own]), Linear):
            return  # as all of them may be
        ahead = more - less
        if order in ("lt", "le", "eq"):
            yield _Bound(own, uniform, least=ahead + (order == "lt"))
        if order in ("gt", "ge", "eq"):
            yield _Bound(own, uniform, most=ahead - (order == "gt"))

    def _sum(self, value: Value) -> tuple[str, int]:
        """A value as another one, or none, and a number more."""
        more = 0
        while value.is_local:
            instruction = self._definitions.get(value.text)
            number = (
                instruction.operands[-1].integer if instruction and _adds(instruction) else None
            )
            if instruction is None or number is None:
                return value.text, more
            more += number
            value = instruction.operands[0]
        number = value.integer
        return (value.text, more) if number is None else ("", more + number)

    def _is_uniform(self, name: str) -> bool:
        return self._shapes.shapes.get(name, UNIFORM) is UNIFORM


def _parts(instruction: Instruction, *, is_so: bool) -> tuple[Value, ...]:
    """The parts that a condition shares its truth with: of `and` if it holds, of `or` if not."""
    if instruction.opcode == ("and" if is_so else "or"):
        return instruction.operands
    if instruction.opcode == "select":
        condition, yes, no = instruction.operands
        if is_so and no.text == "false":
            return condition, yes
        if not is_so and yes.text == "true":
            return condition, no
    return ()


def _adds(instruction: Instruction) -> bool:
    is_or = instruction.opcode == "or" and "disjoint" in instruction.flags
    return instruction.opcode == "add" or is_or
