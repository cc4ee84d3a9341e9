"""Split kernels that are too long or read too many buffers."""

from __future__ import annotations

from dataclasses import dataclass, field

from metalbench.hlo.graph import Block, Operation, Value
from metalbench.hlo.operations import is_elementwise

# Metal binds 31 buffers to a kernel; some are results.
_MAX_LOADS = 20
# Expressions of a kernel: long kernels compile slowly. Threefry, the random generator of JAX, has
# about 130. Each of its rounds passes two values to the next one, and a split stores only one of
# them, so with a limit below 130 each kernel would repeat the previous rounds.
_MAX_EXPRESSIONS = 200


@dataclass
class _KernelBody:
    """The code of an element: the values that it loads, and its expressions.

    `lengths` maps each operation to its number of expressions. An operation at the same index as
    for another user is emitted once for both.
    """

    loads: set[Value] = field(default_factory=set)
    lengths: dict[Operation, int] = field(default_factory=dict)

    @property
    def length(self) -> int:
        """Number of expressions."""
        return sum(self.lengths.values())

    def can_merge(self, other: _KernelBody) -> bool:
        """Return whether one kernel can hold both bodies."""
        length = sum((self.lengths | other.lengths).values())
        return len(self.loads | other.loads) <= _MAX_LOADS and length < _MAX_EXPRESSIONS

    def merge(self, other: _KernelBody) -> None:
        """Add the loads and expressions of another body."""
        self.loads |= other.loads
        self.lengths |= other.lengths


def split_large_kernels(block: Block, inlined: set[Value]) -> None:
    """Store values in buffers where a kernel would be too long or read too many buffers."""
    texts: dict[Value, _KernelBody] = {}
    for operation in block.operations:
        found = _KernelBody()
        for value in operation.find_inputs():
            inner = (
                texts.get(value, _KernelBody({value})) if value in inlined else _KernelBody({value})
            )
            producer = value.operation
            is_part = producer is not None and producer.name != "constant" and value in inlined
            if is_part and producer is not None and not found.can_merge(inner):
                inlined.difference_update(producer.results)
                inner = _KernelBody({value})
            found.merge(inner)
        if not is_elementwise(operation):
            # It reads its operands at other indices, so it shares no expressions.
            found = _KernelBody(found.loads, {operation: found.length + 1})
        else:
            found.lengths[operation] = 1
        texts.update(dict.fromkeys(operation.results, found))
