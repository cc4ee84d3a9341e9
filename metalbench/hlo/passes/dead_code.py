"""Remove operations whose results are not used."""

from __future__ import annotations

from metalbench.hlo.graph import Block, Value


def remove_dead_code(block: Block) -> None:
    """Remove unused operations in place, also in regions."""
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
