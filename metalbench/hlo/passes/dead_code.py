"""Operations whose results nothing uses."""

from __future__ import annotations

from metalbench.hlo.graph import Block, Value


def remove_dead_code(block: Block) -> None:
    """Drop, in place and in the regions, what does not lead to a result."""
    used: set[Value] = set(block.returned)
    kept = []
    for operation in reversed(block.operations):
        if used.isdisjoint(operation.results):
            continue
        for region in operation.regions:
            remove_dead_code(region)
        kept.append(operation)
        used.update(operation.find_inputs())
    block.operations = kept[::-1]
