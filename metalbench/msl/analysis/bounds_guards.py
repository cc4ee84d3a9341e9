"""Bounds-guard (tail) analysis: find targets of branches that lanes never take all together.

Code that reads four elements a lane, and single ones at the end of an array, reaches the latter
with few lanes: otherwise all lanes would be within four elements of the end. A version of such a
target for all lanes costs code and a test. It is never needed: the lanes can run serialized.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from metalbench.msl.analysis.control_flow import Flow
from metalbench.msl.analysis.uniformity import UNIFORM, Affine, Constant, UniformityInfo, to_affine
from metalbench.msl.ir.model import BasicBlock, Compare, Function, Instruction, Phi, Value
from metalbench.msl.ir.types import POINTER

_MIN_LANE_DISTANCE = 8  # elements: most lanes process that many at once
_LOGICAL = ("and", "or", "xor", "select", "freeze")
_NEGATED = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq"}
_SWAPPED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}


@dataclass(frozen=True)
class _Bound:
    """A bound of a lane's value: value + lower <= uniform <= value + upper."""

    value: str
    uniform: str
    lower: int | None = None
    upper: int | None = None


class BoundsGuards:
    """Bounds that hold for the lanes in each block, from the branches that dominate it."""

    def __init__(self, function: Function, flow: Flow, info: UniformityInfo, width: int) -> None:
        self._flow = flow
        self._info = info
        self._definitions = function.definitions()
        self._width = width
        self._bounds: dict[BasicBlock, tuple[_Bound, ...]] = {}
        for block in flow.order:  # after its predecessors, except on back edges
            self._bounds[block] = tuple(self._find_bounds_at_entry(block))

    def is_bounds_guard(self, block: BasicBlock) -> bool:
        """Return whether a block's branch only compares lanes' values with uniform ones."""
        terminator = block.terminator
        return terminator.opcode == "br" and self._is_guard_condition(terminator.operands[0])

    def _is_guard_condition(self, condition: Value) -> bool:
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
            return uniform[0].is_local or (
                uniform[0].text == "null" and self._is_guard_condition(own)
            )
        if instruction.opcode == "select" and instruction.type == POINTER:
            return self._is_guard_condition(instruction.operands[0])
        return instruction.opcode in _LOGICAL and all(
            map(self._is_guard_condition, instruction.operands)
        )

    def is_never_unanimous(
        self, block: BasicBlock, target: BasicBlock, *, proven: bool = False
    ) -> bool:
        """Return whether not all lanes can take the edge from a block's branch to `target`.

        Unless it must be `proven`, varying values are assumed to differ by _MIN_LANE_DISTANCE.
        """
        uniformity = self._info.get(block.terminator.operands[0])
        if isinstance(uniformity, Constant) and len(set(uniformity.values)) > 1:
            return True
        found: dict[tuple[str, str], tuple[list[int], list[int]]] = {}
        for bound in (*self._bounds[block], *self._find_edge_bounds(block, target)):
            least, most = found.setdefault((bound.value, bound.uniform), ([], []))
            least += [] if bound.lower is None else [bound.lower]
            most += [] if bound.upper is None else [bound.upper]
        return any(
            least and most and self._is_too_narrow(*names, min(most) - max(least), proven=proven)
            for names, (least, most) in found.items()
        )

    def _is_too_narrow(self, own: str, uniform: str, room: int, *, proven: bool) -> bool:
        """Return whether the values of all lanes do not fit into an interval of `room` elements."""
        uniformity = to_affine(self._info.by_name.get(own, UNIFORM))
        if isinstance(uniformity, Affine):
            return room < (self._width - 1) * abs(uniformity.stride)
        return not proven and bool(uniform) and room < _MIN_LANE_DISTANCE

    def _find_bounds_at_entry(self, block: BasicBlock) -> Iterator[_Bound]:
        """Yield the bounds that hold at the start of a block."""
        above = self._flow.dominator.get(block)
        if above is not None and above is not block:
            yield from self._bounds[above]
        if len(block.predecessors) == 1:
            yield from self._find_edge_bounds(block.predecessors[0], block)
        elif block.predecessors:
            for phi in block.phis:
                yield from self._find_phi_bounds(block, phi)

    def _find_phi_bounds(self, block: BasicBlock, phi: Phi) -> Iterator[_Bound]:
        """Yield the bounds that hold for a phi on all edges, such as an induction variable.

        On a back edge these are the bounds of the branch of the latch.
        """
        before = {each.name: each for each in block.predecessors}
        ways = []
        for value, source in zip(phi.operands, phi.sources, strict=True):
            base, more = self._split_offset(value)
            there = self._bounds.get(before[source], ())
            bounds = (*there, *self._find_edge_bounds(before[source], block))
            ways.append([(each, more) for each in bounds if each.value == base])
        for uniform in dict.fromkeys(each.uniform for each, _ in ways[0]):
            here = [[(each, more) for each, more in way if each.uniform == uniform] for way in ways]
            least = [[b.lower - more for b, more in way if b.lower is not None] for way in here]
            most = [[b.upper - more for b, more in way if b.upper is not None] for way in here]
            if all(least):
                yield _Bound(phi.result, uniform, lower=min(map(max, least)))
            if all(most):
                yield _Bound(phi.result, uniform, upper=max(map(min, most)))

    def _find_edge_bounds(self, block: BasicBlock, target: BasicBlock) -> tuple[_Bound, ...]:
        terminator = block.terminator
        if terminator.opcode != "br" or len(block.successors) < 2:
            return ()
        is_true = terminator.targets[0] == target.name
        return tuple(self._find_condition_bounds(terminator.operands[0], is_true=is_true))

    def _find_condition_bounds(self, condition: Value, *, is_true: bool) -> Iterator[_Bound]:
        """Yield the bounds that follow from a condition or its negation."""
        instruction = self._definitions.get(condition.text)
        if instruction is None:
            return
        for each in _get_implied_conditions(instruction, is_true=is_true):
            yield from self._find_condition_bounds(each, is_true=is_true)
        if isinstance(instruction, Compare) and instruction.opcode == "icmp":
            yield from self._find_compare_bounds(instruction, is_true=is_true)

    def _find_compare_bounds(self, compare: Compare, *, is_true: bool) -> Iterator[_Bound]:
        order = compare.predicate[-2:]
        order = order if is_true else _NEGATED[order]
        first, second = (self._split_offset(each) for each in compare.operands)
        if self._is_uniform(first[0]):
            first, second, order = second, first, _SWAPPED[order]
        (own, more), (uniform, less) = first, second
        if self._is_uniform(own) or not self._is_uniform(uniform):
            return
        if order == "eq" and not isinstance(to_affine(self._info.by_name[own]), Affine):
            return  # all lanes may have one value
        ahead = more - less
        if order in ("lt", "le", "eq"):
            yield _Bound(own, uniform, lower=ahead + (order == "lt"))
        if order in ("gt", "ge", "eq"):
            yield _Bound(own, uniform, upper=ahead - (order == "gt"))

    def _split_offset(self, value: Value) -> tuple[str, int]:
        """Return a value as a base and a constant offset; a constant has an empty base."""
        more = 0
        while value.is_local:
            instruction = self._definitions.get(value.text)
            number = (
                instruction.operands[-1].integer
                if instruction and _is_addition(instruction)
                else None
            )
            if instruction is None or number is None:
                return value.text, more
            more += number
            value = instruction.operands[0]
        number = value.integer
        return (value.text, more) if number is None else ("", more + number)

    def _is_uniform(self, name: str) -> bool:
        return self._info.by_name.get(name, UNIFORM) is UNIFORM


def _get_implied_conditions(instruction: Instruction, *, is_true: bool) -> tuple[Value, ...]:
    """Return the conditions that must hold too: operands of a true `and`, or of a false `or`."""
    if instruction.opcode == ("and" if is_true else "or"):
        return instruction.operands
    if instruction.opcode == "select":
        condition, yes, no = instruction.operands
        if is_true and no.text == "false":
            return condition, yes
        if not is_true and yes.text == "true":
            return condition, no
    return ()


def _is_addition(instruction: Instruction) -> bool:
    is_or = instruction.opcode == "or" and "disjoint" in instruction.flags
    return instruction.opcode == "add" or is_or
