"""The sizes of a task from one example: which extents can be other numbers, found by trial."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, combinations_with_replacement
from typing import Protocol

import numpy as np

from metalbench.errors import DeclarationError
from metalbench.kernelbench.pytorch.inputs import CPU, Trials, Work, find_odd, find_small, grow

Shape = tuple[int, ...]
Sizes = dict[str, dict[str, int]]
# No extent of a small size is less, unless the example's is.
LEAST = 8
# Work of the size for GPUs: operations, and elements of all arrays (64 MB).
LARGE = 8_000_000_000, 16_000_000
MOST_GROWTH = 4096
# Random sizes that are tried.
DRAWS = 12
MULTIPLES = (1, 2, 4, 8, 16, 32, 64, 128)
MOST_DEGREE = 3
# Of quotients of extents, as windows and strides leave them.
MOST_DIVISOR = 64
# Extents that are tried to count operations lie below this multiple of the small size.
SPREAD = 6


@dataclass(frozen=True)
class Probe:
    """The outputs of a program at arguments of some shapes, with types, and its operations."""

    outputs: tuple[tuple[Shape, str], ...]
    flops: int


class ShapedProgram(Protocol):
    """A program that may take arguments of other shapes than those of its example."""

    def probe(self, shapes: Sequence[Shape]) -> Probe:
        """Return the results' shapes; raise DeclarationError for shapes that it does not take."""


@dataclass(frozen=True)
class TaskShapes:
    """The shapes of a task: expressions and numbers of each argument and output, and the sizes.

    `multiples` and `draws` are for random sizes: multiples of extents, or if these do not suffice
    the names of sizes that random ones are taken from. `flops` is None if it has no expression. In
    each of the `uneven` sizes one extent is larger than all others.
    """

    arguments: tuple[tuple[str | int, ...], ...]
    outputs: tuple[tuple[tuple[str | int, ...], str], ...]
    sizes: Sizes
    multiples: Mapping[str, int]
    draws: tuple[str, ...]
    flops: str | None
    uneven: tuple[dict[str, int], ...] = ()


def find_shapes(program: ShapedProgram, examples: Sequence[Shape]) -> TaskShapes:
    """Return the shapes of a task with the arguments of `examples`.

    Raise DeclarationError if the program does not take the example, or if no expression gives the
    shape of an output.
    """
    extents = _Extents.find(program, examples)
    if not extents.own:
        # A task has a size of at least one name.
        return _find_fixed(program, examples)
    sizes = _find_sizes(extents)
    multiples, draws = _find_random_rule(extents, sizes)
    rows = _try_rows(extents, sizes)
    outputs = []
    for place, (_, kind) in enumerate(rows[0][1].outputs):
        several = [each.outputs[place][0] for _, each in rows]
        dims = tuple(
            _find_extent([values for values, _ in rows], numbers, place)
            for numbers in zip(*several, strict=True)
        )
        outputs.append((dims, kind))
    flops = _fit([values for values, _ in rows], [each.flops for _, each in rows], MOST_DEGREE)
    uneven = () if draws else tuple(_list_uneven(extents, sizes["small"]))
    return TaskShapes(extents.arguments, tuple(outputs), sizes, multiples, draws, flops, uneven)


def _find_fixed(program: ShapedProgram, examples: Sequence[Shape]) -> TaskShapes:
    """Return the shapes of a program that takes one shape only; `batch` is always 1."""
    probe = program.probe(examples)
    sizes: Sizes = {name: {"only": 1} for name in ("small", "odd1", "seed")}
    return TaskShapes(tuple(examples), probe.outputs, sizes, {}, ("seed",), str(probe.flops))


@dataclass
class _Extents:
    """The extents that can be other numbers: `own` are those of the example, by name.

    `arguments` has a name or a number for each axis of each argument.
    """

    program: ShapedProgram
    arguments: tuple[tuple[str | int, ...], ...]
    own: dict[str, int]
    known: dict[tuple[Shape, ...], Probe | None] = field(default_factory=dict)

    @classmethod
    def find(cls, program: ShapedProgram, examples: Sequence[Shape]) -> _Extents:
        program.probe(examples)  # raises the error of the example
        found = cls(program, tuple(map(tuple, examples)), {})
        axes: dict[int, list[tuple[int, int]]] = {}
        for place, shape in enumerate(examples):
            for axis, extent in enumerate(shape):
                if extent > 1:
                    axes.setdefault(extent, []).append((place, axis))
        for extent, places in axes.items():
            found._name(extent, places)
        return found

    def _name(self, extent: int, places: list[tuple[int, int]]) -> None:
        """Name the axes of one extent: those that can change alone, and the others together."""
        alone = [each for each in places if len(places) > 1 and self._can_change(extent, [each])]
        together = [each for each in places if each not in alone]
        groups = [[each] for each in alone]
        if together and self._can_change(extent, together):
            groups.append(together)
        for group in groups:
            name = f"n{extent}" if f"n{extent}" not in self.own else ""
            number = 2
            while not name:
                name = "" if f"n{extent}_{number}" in self.own else f"n{extent}_{number}"
                number += 1
            self.own[name] = extent
            self.arguments = self._rename_axes(group, name)

    def _rename_axes(
        self, group: Sequence[tuple[int, int]], value: str | int
    ) -> tuple[tuple[str | int, ...], ...]:
        return tuple(
            tuple(value if (place, axis) in group else each for axis, each in enumerate(shape))
            for place, shape in enumerate(self.arguments)
        )

    def _can_change(self, extent: int, group: Sequence[tuple[int, int]]) -> bool:
        for value in (2 * extent, extent + 1, extent // 2):
            arguments = self._rename_axes(group, value)
            shapes = tuple(
                tuple(self.own.get(each, 0) if isinstance(each, str) else each for each in shape)
                for shape in arguments
            )
            if value and self._probe(shapes) is not None:
                return True
        return False

    def shapes_at(self, values: Mapping[str, int]) -> tuple[Shape, ...]:
        """Return the shapes of the arguments at a size."""
        return tuple(
            tuple(values[each] if isinstance(each, str) else each for each in shape)
            for shape in self.arguments
        )

    def probe(self, values: Mapping[str, int]) -> Probe | None:
        """Return the probe of a size; None if the program does not take it."""
        return self._probe(self.shapes_at(values))

    def _probe(self, shapes: tuple[Shape, ...]) -> Probe | None:
        if shapes not in self.known:
            try:
                found = self.program.probe(shapes)
                empty = any(0 in shape for shape, _ in found.outputs)
                self.known[shapes] = None if empty else found
            except DeclarationError:
                self.known[shapes] = None
        return self.known[shapes]

    def work(self, values: Mapping[str, int]) -> Work:
        """Return the work of a size; raise DeclarationError if the program does not take it."""
        probe = self.probe(values)
        if probe is None:
            raise DeclarationError(f"the program does not take the size {dict(values)}")
        shapes = [*self.shapes_at(values), *(shape for shape, _ in probe.outputs)]
        return Work(probe.flops, sum(map(math.prod, shapes)))


def _find_sizes(extents: _Extents) -> Sizes:
    own = extents.own
    trials = Trials(extents.work, LEAST)
    small = find_small(own, trials)
    odd = _make_different(find_odd(small, own, trials), trials)
    other = {name: 2 * value for name, value in odd.items()}
    other = _make_different(find_odd(other, own, trials), trials)
    small = _make_different(small, trials)
    work = trials.work(own)
    seed = own if work is not None and work.within(CPU) else grow(small, own, trials, CPU)
    most = {name: MOST_GROWTH * value for name, value in own.items()}
    sizes = {"small": small, "odd1": odd, "odd2": other, "seed": seed}
    sizes["large"] = grow(seed, most, trials, LARGE)
    found: Sizes = {}
    for name, values in sizes.items():
        is_new = values not in found.values() and trials.work(values) is not None
        if name in ("small", "odd1", "seed") or is_new:
            found[name] = dict(values)
    return found


def _make_different(values: dict[str, int], trials: Trials) -> dict[str, int]:
    """Return a size in which no two extents are equal, as far as the program takes one."""
    found = dict(values)
    for name, value in values.items():
        for other in (value, *(factor * value for factor in (2, 3, 4)), value + 2, value + 4):
            taken = [each for key, each in found.items() if key != name]
            if other not in taken and trials.work({**found, name: other}) is not None:
                found[name] = other
                break
    return found


def _list_uneven(extents: _Extents, small: Mapping[str, int]) -> Iterator[dict[str, int]]:
    most = 2 * max(small.values())
    for name, value in small.items():
        values = {**small, name: value * math.ceil(most / value)}
        if extents.probe(values) is not None:
            yield values


def _find_random_rule(extents: _Extents, sizes: Sizes) -> tuple[Mapping[str, int], tuple[str, ...]]:
    """Return multiples for random sizes, and the names of sizes if multiples do not suffice."""
    random = np.random.default_rng(0)
    multiples = {}
    for name, own in sizes["seed"].items():
        least = min(each[name] for each in sizes.values())
        for step in MULTIPLES:
            values = [step * max(1, int(random.integers(least, own + 1)) // step) for _ in range(4)]
            if all(extents.probe({**sizes["seed"], name: each}) for each in values):
                multiples[name] = step
                break
    is_regular = all(
        values[name] % step == 0 for values in sizes.values() for name, step in multiples.items()
    )
    if len(multiples) == len(extents.own) and is_regular:
        drawn = (
            {
                name: step * max(1, int(random.integers(1, sizes["seed"][name] + 1)) // step)
                for name, step in multiples.items()
            }
            for _ in range(DRAWS)
        )
        if all(extents.probe(each) for each in drawn):
            return {name: step for name, step in multiples.items() if step > 1}, ()
    return {}, tuple(each for each in sizes if each in ("small", "odd1", "odd2"))


def _try_rows(extents: _Extents, sizes: Sizes) -> list[tuple[dict[str, int], Probe]]:
    """Return sizes with their probes, enough of them to find expressions of the extents."""
    small = sizes["small"]
    random = np.random.default_rng(0)
    wanted = 2 * len(_list_terms(list(small), MOST_DEGREE))
    found: dict[tuple[int, ...], tuple[dict[str, int], Probe]] = {}
    tried = [dict(each) for each in sizes.values()]
    for number in range(8 * wanted):
        # Every second size has multiples of the small one: a program may take only those.
        factors = {name: int(random.integers(1, SPREAD + 1)) for name in small}
        tried.append(
            {
                name: least * factors[name]
                if number % 2
                else int(random.integers(least, SPREAD * least))
                for name, least in small.items()
            }
        )
    for values in tried:
        probe = extents.probe(values)
        if probe is not None:
            found[tuple(values.values())] = values, probe
        if len(found) >= wanted + len(sizes):
            break
    return list(found.values())


def _find_extent(
    rows: Sequence[Mapping[str, int]], numbers: Sequence[int], place: int
) -> str | int:
    """Return the expression of one extent of an output, or its number."""
    if len(set(numbers)) == 1:
        return numbers[0]
    found = _fit(rows, numbers, 2)
    if found is not None:
        return found
    found = _find_quotient(rows, numbers)
    if found is not None:
        return found
    example = ", ".join(f"{name}={value}" for name, value in rows[-1].items())
    raise DeclarationError(
        f"output {place}: expected a shape that is an expression of {', '.join(rows[0])}; an "
        f"extent is {numbers[-1]} at {example}"
    )


def _find_quotient(rows: Sequence[Mapping[str, int]], numbers: Sequence[int]) -> str | None:
    """Return a quotient of a product of names, or the least of two names, with these values."""
    names = list(rows[0])
    for one, other in combinations(names, 2):
        if all(min(row[one], row[other]) == each for row, each in zip(rows, numbers, strict=True)):
            return f"min({one}, {other})"
    for term in _list_terms(names, 2)[1:]:
        products = [math.prod(row[name] for name in term) for row in rows]
        text = " * ".join(term)
        for divisor in range(2, MOST_DIVISOR + 1):
            for rest, written in ((0, f"{text} / {divisor}"), (-1, f"ceil_div({text}, {divisor})")):
                quotients = [
                    each // divisor if rest == 0 else -(-each // divisor) for each in products
                ]
                more = numbers[0] - quotients[0]
                if all(q + more == each for q, each in zip(quotients, numbers, strict=True)):
                    sign = "+" if more > 0 else "-"
                    return f"{written} {sign} {abs(more)}" if more else written
    return None


def _list_terms(names: Sequence[str], degree: int) -> list[tuple[str, ...]]:
    """Return products of names up to a degree, and those of one more that are all different."""
    found = [
        term for each in range(degree + 1) for term in combinations_with_replacement(names, each)
    ]
    return [*found, *combinations(names, degree + 1)]


def _fit(rows: Sequence[Mapping[str, int]], numbers: Sequence[int], degree: int) -> str | None:
    """Return the sum of products of names that has these values; None if there is none."""
    terms = _list_terms(list(rows[0]), degree)
    if len(rows) <= len(terms):
        return None
    products = np.array(
        [[math.prod(row[name] for name in term) for term in terms] for row in rows], np.float64
    )
    wanted, scale = np.array(numbers, np.float64), products.max(axis=0)
    # Rows of small numbers count as much as those of large ones.
    weight = 1 / np.maximum(1, np.abs(wanted))[:, None]
    solved = np.linalg.lstsq(weight * products / scale, weight[:, 0] * wanted, rcond=None)[0]
    factors = [int(each) for each in np.round(solved / scale)]
    if not np.array_equal(products @ np.array(factors, np.float64), wanted):
        return None
    written = ""
    for factor, term in reversed(list(zip(factors, terms, strict=True))):
        if not factor:
            continue
        size = [str(abs(factor))] if abs(factor) != 1 or not term else []
        sign = "- " if factor < 0 else "+ "
        written += f" {sign}{' * '.join([*size, *term])}"
    return written.removeprefix(" + ").strip() or "0"
