"""Format a graph as DOT, the input language of Graphviz."""

from __future__ import annotations

from collections.abc import Iterator

from metalbench.hlo.graph.program import Block, Operation, Value


def format_dot(block: Block) -> str:
    """Return DOT text: operations are boxes, values are edges, regions are clusters."""
    return "\n".join(
        ["digraph program {", "  node [shape=box];", *_DotWriter().format_block(block), "}"]
    )


class _DotWriter:
    """Writer of the DOT text of one graph."""

    def __init__(self) -> None:
        self._names: dict[Value, str] = {}
        self._count = 0

    def _make_name(self) -> str:
        self._count += 1
        return f"n{self._count}"

    def format_block(self, block: Block, indent: str = "  ") -> Iterator[str]:
        """Yield the lines of a block, its arguments and its returned values."""
        for number, value in enumerate(block.arguments):
            name = self._names[value] = self._make_name()
            yield f'{indent}{name} [label="argument {number}", shape=ellipse];'
        for operation in block.operations:
            yield from self._format_operation(operation, indent)
        name = self._make_name()
        yield f'{indent}{name} [label="return", shape=ellipse];'
        yield from self._format_edges(block.returned, name, indent)

    def _format_operation(self, operation: Operation, indent: str) -> Iterator[str]:
        name = self._make_name()
        yield f'{indent}{name} [label="{operation.name}"];'
        yield from self._format_edges(operation.operands, name, indent)
        for number, region in enumerate(operation.regions):
            yield f'{indent}subgraph "cluster_{name}_{number}" {{'
            yield f'{indent}  label="{operation.name} {name}";'
            yield from self.format_block(region, indent + "  ")
            yield f"{indent}}}"
        self._names.update(dict.fromkeys(operation.results, name))

    def _format_edges(self, values: list[Value], name: str, indent: str) -> Iterator[str]:
        for value in values:
            yield f'{indent}{self._names[value]} -> {name} [label="{value.type}"];'
