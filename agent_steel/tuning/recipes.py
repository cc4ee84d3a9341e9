"""Recipes: sequences of transformations of one kernel, ordered by its bottleneck."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from agent_steel.source import with_source
from agent_steel.tuning.transformations import TRANSFORMATIONS, Transformation
from metalbench.errors import MetalBenchError
from metalbench.kernel.header import Kernel

MOST_STEPS = 5
MOST_RECIPES = 48
# Of these a kernel has one: each says anew which thread does what.
STRUCTURES = frozenset(
    {
        "SIMD-groups a row",
        "SIMD-group matrices",
        "tiles in threadgroup memory",
        "vector loads",
        "elements per thread",
    }
)
# How much a technique is expected to help, where nothing else is known: larger is tried earlier.
WORTH = {
    "fused dispatches": 8,
    "SIMD-groups a row": 16,
    "SIMD-group matrices": 20,
    "tiles in threadgroup memory": 16,
    "vector loads": 12,
    "reciprocals": 2,
    "fast functions": 1,
    "half accumulation": 1,
    "elements per thread": 3,
    "threads per threadgroup": 2,
    "unrolled loops": 2,
    "unroll factors": 2,
    "loads ahead": 1,
    "peeled tails": 1,
}
# What helps against each bottleneck of a diagnosis, measured or predicted.
HELPS = {
    "memory": ("fused dispatches", "vector loads", "tiles in threadgroup memory"),
    "data path": ("vector loads", "tiles in threadgroup memory", "SIMD-group matrices"),
    "L2": ("tiles in threadgroup memory", "SIMD-group matrices"),
    "latency": ("SIMD-groups a row", "loads ahead", "unroll factors"),
    "compute": ("SIMD-group matrices", "reciprocals", "fast functions", "half accumulation"),
    "complex": ("reciprocals", "fast functions"),
    "issue": ("vector loads", "unroll factors", "unrolled loops", "peeled tails"),
    "launch": ("fused dispatches", "elements per thread"),
    "dispatch": ("fused dispatches", "elements per thread"),
    "threadgroup memory": ("SIMD-groups a row",),
}
BONUS = 4


@dataclass(frozen=True)
class Recipe:
    """A text of a kernel, and the techniques that lead to it from the first one."""

    steps: tuple[str, ...]
    summary: str
    source: str

    @property
    def technique(self) -> str:
        """The name of what was changed."""
        return " + ".join(self.steps)


def list_recipes(kernel: Kernel, bound: str = "unknown") -> list[Recipe]:
    """Return the recipes for a kernel, the most promising first.

    `bound` is the bottleneck of the diagnosis. Transformations follow each other in their usual
    order, each at most once. A text that several sequences lead to is there once.
    """
    found = {kernel.source: Recipe((), "", kernel.source)}
    _extend(kernel, found[kernel.source], 0, found)
    del found[kernel.source]
    # The sort is stable: of equal ones the shorter sequence is first.
    return sorted(found.values(), key=lambda each: -score(each.steps, bound))[:MOST_RECIPES]


def score(steps: tuple[str, ...], bound: str) -> float:
    """Return how promising techniques are together against a bottleneck."""
    helps = HELPS.get(bound, ())
    return sum(WORTH.get(each, 1) + BONUS * (each in helps) for each in steps)


def _extend(kernel: Kernel, recipe: Recipe, first: int, found: dict[str, Recipe]) -> None:
    """Add what the transformations from number `first` make of a recipe, and so on."""
    if len(recipe.steps) >= MOST_STEPS or len(found) > 4 * MOST_RECIPES:
        return
    has_structure = bool(STRUCTURES & set(recipe.steps))
    for index, each in enumerate(TRANSFORMATIONS[first:], first):
        if has_structure and each.technique in STRUCTURES:
            continue
        for text in _versions(kernel, recipe.source, each):
            steps = (*recipe.steps, each.technique)
            known = found.get(text)
            if known is None or len(known.steps) > len(steps):
                found[text] = Recipe(steps, f"{recipe.summary} {each.summary}".strip(), text)
                _extend(kernel, found[text], index + 1, found)


def _versions(kernel: Kernel, source: str, each: Transformation) -> Iterator[str]:
    try:
        current = with_source(kernel, source)
    except MetalBenchError:
        return
    yield from each.versions(current)
