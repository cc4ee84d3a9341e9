"""Kernels that would be too long, or read too many buffers, in parts."""

from __future__ import annotations

from dataclasses import dataclass, field

from metalbench.hlo.graph import Block, Operation, Value
from metalbench.hlo.operations import is_elementwise

# A kernel's parameters: Metal has 31, of which some are for results.
_MAX_LOADS = 20
# Expressions of a kernel; compilers take their time for long ones. Threefry, the random generator
# of JAX, has about 130. Each of its rounds gives two values to the next round, and a cut stores
# only one of them: with a limit below 130, each of its kernels would repeat the rounds before it.
_MAX_EXPRESSIONS = 200


@dataclass
class _KernelBody:
    """What is written for an element: the values that it is loaded from, and expressions.

    `lengths` are how many each operation makes. One that is at the same index as another user's is
    written once for both.
    """

    loads: set[Value] = field(default_factory=set)
    lengths: dict[Operation, int] = field(default_factory=dict)

    @property
    def length(self) -> int:
        return sum(self.lengths.values())

    def can_merge(self, other: _KernelBody) -> bool:
        """Whether one kernel can have both."""
        length = sum((self.lengths | other.lengths).values())
        return len(self.loads | other.loads) <= _MAX_LOADS and length < _MAX_EXPRESSIONS

    def merge(self, other: _KernelBody) -> None:
        self.loads |= other.loads
        self.lengths |= other.lengths


def split_large_kernels(block: Block, inlined: set[Value]) -> None:
    """Give buffers to what would make a kernel too long, or read from too many buffers."""
    texts: dict[Value, _KernelBody] = {}
    for operation in block.operations:
        found = _KernelBody()
        for value in operation.find_inputs():
            inner = (
                texts.get(value, _KernelBody({value})) if value in inlined else _KernelBody({value})
            )
            made = value.operation
            is_part = made is not None and made.name != "constant" and value in inlined
            if is_part and made is not None and not found.can_merge(inner):
                inlined.difference_update(made.results)
                inner = _KernelBody({value})
            found.merge(inner)
        if not is_elementwise(operation):
            # At indices of its own, which no other operation has.
            found = _KernelBody(found.loads, {operation: found.length + 1})
        else:
            found.lengths[operation] = 1
        texts.update(dict.fromkeys(operation.results, found))
