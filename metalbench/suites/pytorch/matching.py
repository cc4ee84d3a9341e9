"""Numbers that differ from size to size, as expressions of the sizes' names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any

from metalbench.suites.pytorch.graph import Graph, Name, Step

Numbers = tuple[int, ...]
MOST_FACTOR = 64


@dataclass(frozen=True)
class Different:
    """Values at the sizes in order, for which there is no expression."""

    values: tuple[Any, ...]


@dataclass(frozen=True)
class Formula:
    """An expression of sizes, with `/` for whole division."""

    text: str


@dataclass
class Matching:
    """Find expressions of size names for numbers that differ between sizes."""

    sizes: Mapping[str, Mapping[str, int]]
    found: dict[Numbers, Any] = field(default_factory=dict)

    def of(self, values: Sequence[Any]) -> Any:
        """Return one thing for all sizes: a value, a Formula, a Different, or a tuple of them.

        Raise ValueError where they are not the same kind of thing.
        """
        first = values[0]
        if all(type(each) is type(first) and each == first for each in values):
            return first
        if all(isinstance(each, tuple) and len(each) == len(first) for each in values):
            return tuple(self.of(several) for several in zip(*values, strict=True))
        if all(type(each) is int for each in values):
            key = tuple(values)
            if key not in self.found:
                self.found[key] = self._formula(key)
            return self.found[key]
        if all(type(each) in (int, float) for each in values):
            return Different(tuple(values))
        raise ValueError("the graph is another one at another size")

    def _formula(self, wanted: Numbers) -> Formula | Different:
        for values, text in self._candidates:
            if values == wanted:
                return Formula(text)
            for factor in (2, 3, 4, 6, 8, 9, 12, 16, 32, 49, 64):
                if tuple(factor * each for each in values) == wanted:
                    return Formula(f"{factor} * {text}")
            if "*" not in text:
                formula = self._near(values, text, wanted)
                if formula:
                    return formula
        return Different(wanted)

    @staticmethod
    def _near(values: Numbers, text: str, wanted: Numbers) -> Formula | None:
        """Return a quotient, or a sum, as windows leave of an extent."""
        for part in range(1, MOST_FACTOR + 1):
            by = wanted[0] - values[0] // part
            if all(each // part + by == want for each, want in zip(values, wanted, strict=True)):
                quotient = f"{text} / {part}" if part > 1 else text
                return Formula(f"{quotient} {'+' if by > 0 else '-'} {abs(by)}" if by else quotient)
        return None

    @cached_property
    def _candidates(self) -> list[tuple[Numbers, str]]:
        return list(self._products())

    def _products(self) -> Iterator[tuple[Numbers, str]]:
        names = list(next(iter(self.sizes.values())))
        for many in (1, 2, 3):
            for chosen in combinations(names, many):
                values = []
                for each in self.sizes.values():
                    product = 1
                    for name in chosen:
                        product *= each[name]
                    values.append(product)
                yield tuple(values), " * ".join(chosen)
        for name in names:
            squares = tuple(each[name] ** 2 for each in self.sizes.values())
            yield squares, f"{name} * {name}"


def match_graphs(graphs: Sequence[Graph], sizes: Mapping[str, Mapping[str, int]]) -> Graph:
    """One graph, with expressions for its numbers; raises ValueError where they are not alike."""
    matching, first = Matching(sizes), graphs[0]
    if any(form_of(each) != form_of(first) for each in graphs):
        raise ValueError("the graph is another one at another size")

    def shapes(kind: str) -> dict[str, Any]:
        return {
            name: matching.of([getattr(each, kind)[name] for each in graphs])
            for name in getattr(first, kind)
        }

    steps = [
        Step(
            several[0].result,
            several[0].operation,
            matching.of([each.arguments for each in several]),
            {
                name: matching.of([each.options[name] for each in several])
                for name in several[0].options
            },
        )
        for several in zip(*(each.steps for each in graphs), strict=True)
    ]
    outputs = [
        (matching.of([shape for shape, _ in each]), each[0][1])
        for each in zip(*(graph.outputs for graph in graphs), strict=True)
    ]
    return Graph(
        shapes("inputs"),
        shapes("parameters"),
        shapes("buffers"),
        steps,
        list(first.results),
        outputs,
        dict(first.input_types),
        next((each.unknown for each in graphs if each.unknown), ""),
    )


def form_of(graph: Graph) -> tuple[Any, ...]:
    """Return the structure of a graph without its numbers."""
    return (
        tuple(graph.inputs.items() and [(n, len(s)) for n, s in graph.inputs.items()]),
        tuple((name, len(shape)) for name, shape in graph.parameters.items()),
        tuple(graph.buffers),
        tuple(
            (step.result, step.operation, _form(step.arguments), tuple(step.options))
            for step in graph.steps
        ),
        tuple(graph.results),
        tuple(len(shape) for shape, _ in graph.outputs),
    )


def _form(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_form, value))
    return value if isinstance(value, (Name, str, bool)) or value is None else "number"
