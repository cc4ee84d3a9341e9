"""A program as a picture: DOT, which Graphviz draws."""

from __future__ import annotations

from collections.abc import Iterator

from metalbench.hlo.graph.program import Block, Operation, Value


def format_dot(block: Block) -> str:
    """Operations as boxes, values as arrows with their types, regions as frames."""
    return "\n".join(["digraph program {", "  node [shape=box];", *_DotWriter().block(block), "}"])


class _DotWriter:
    def __init__(self) -> None:
        self._names: dict[Value, str] = {}
        self._count = 0

    def _fresh(self) -> str:
        self._count += 1
        return f"n{self._count}"

    def block(self, block: Block, indent: str = "  ") -> Iterator[str]:
        """The lines of a block, its arguments and what it returns."""
        for number, value in enumerate(block.arguments):
            name = self._names[value] = self._fresh()
            yield f'{indent}{name} [label="argument {number}", shape=ellipse];'
        for operation in block.operations:
            yield from self._operation(operation, indent)
        name = self._fresh()
        yield f'{indent}{name} [label="return", shape=ellipse];'
        yield from self._arrows(block.returned, name, indent)

    def _operation(self, operation: Operation, indent: str) -> Iterator[str]:
        name = self._fresh()
        yield f'{indent}{name} [label="{operation.name}"];'
        yield from self._arrows(operation.operands, name, indent)
        for number, region in enumerate(operation.regions):
            yield f'{indent}subgraph "cluster_{name}_{number}" {{'
            yield f'{indent}  label="{operation.name} {name}";'
            yield from self.block(region, indent + "  ")
            yield f"{indent}}}"
        self._names.update(dict.fromkeys(operation.results, name))

    def _arrows(self, values: list[Value], name: str, indent: str) -> Iterator[str]:
        for value in values:
            yield f'{indent}{self._names[value]} -> {name} [label="{value.type}"];'
