"""A block of instructions in another order, in which some of them have become one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from metalbench.msl.matrices.text import Line

_PURE_CALLS = (
    "@mb_add_halves(",
    "@mb_add_bfloats(",
    "@mb_add_floats(",
    "@llvm.nvvm.mma.",
    "@llvm.nvvm.read.ptx.sreg.",
)
_READING_CALLS = ("@mb_matrix_word(",)
_READING = ("load",)
_WRITING = ("store", "call", "fence", "atomicrmw", "cmpxchg", "invoke")


@dataclass
class Node:
    """Instructions that stay together. `after` are the numbers of those that come before."""

    lines: list[Line]
    after: set[int] = field(default_factory=set)


class CycleError(Exception):
    """Instructions that cannot stay together, since another one comes between them."""


def _reads(line: Line) -> bool:
    return line.opcode in _READING or any(each in line.text for each in _READING_CALLS)


def writes(line: Line) -> bool:
    """Whether it may change memory, or wait for others who do."""
    if line.opcode not in _WRITING or any(each in line.text for each in _READING_CALLS):
        return False
    return not any(each in line.text for each in _PURE_CALLS)


def ordered(lines: Sequence[Line], together: Sequence[frozenset[int]]) -> list[int]:
    """Numbers of lines and, from `len(lines)` on, of groups, in an order that keeps what they do.

    A group of lines comes where the first of it was, and all that it takes before it. Raises
    CycleError with the number of a group that cannot be.
    """
    node_of = {at: len(lines) + i for i, group in enumerate(together) for at in group}
    before = _before(lines, node_of)
    done: set[int] = set()
    order: list[int] = []
    for at in range(len(lines)):
        _place(node_of.get(at, at), before, done, order)
    return order


def _before(lines: Sequence[Line], node_of: Mapping[int, int]) -> Mapping[int, set[int]]:
    before: dict[int, set[int]] = {}
    given: dict[str, int] = {}
    last_write: int | None = None
    reads: list[int] = []
    for at, line in enumerate(lines):
        own = node_of.get(at, at)
        needs = before.setdefault(own, set())
        needs |= {given[name] for name in line.uses if name in given}
        if line.result:
            given[line.result] = own
        if _reads(line):
            needs |= {last_write} if last_write is not None else set()
            reads.append(own)
        elif writes(line):
            needs |= {*reads} if last_write is None else {*reads, last_write}
            last_write, reads = own, []
    for own, needs in before.items():
        needs.discard(own)
    return before


def _place(wanted: int, before: Mapping[int, set[int]], done: set[int], order: list[int]) -> None:
    """Put a node behind all that it needs."""
    stack = [wanted]
    open_nodes: set[int] = set()
    while stack:
        node = stack[-1]
        if node in done:
            stack.pop()
            continue
        missing = sorted(each for each in before[node] if each not in done)
        if not missing:
            stack.pop()
            open_nodes.discard(node)
            done.add(node)
            order.append(node)
            continue
        if node in open_nodes and any(each in open_nodes for each in missing):
            raise CycleError(max(open_nodes))
        open_nodes.add(node)
        stack.append(missing[0])
