"""One call of a kernel, its arguments read and checked."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from metalbench.custom_kernel import arrays
from metalbench.custom_kernel.definition import Definition
from metalbench.custom_kernel.element_types import ElementType, element_type
from metalbench.custom_kernel.signature import Variant
from metalbench.custom_kernel.template import TemplateArgument, template_arguments
from metalbench.errors import DispatchError

Size = tuple[int, int, int]


@dataclass(frozen=True)
class Call:
    """The arguments of a run; `shapes` and `types` are those of the outputs.

    As MLX does, a threadgroup is cut to the size of the grid.
    """

    template: tuple[TemplateArgument, ...]
    inputs: tuple[arrays.Input, ...]
    shapes: tuple[tuple[int, ...], ...]
    types: tuple[ElementType, ...]
    threads_in_grid: Size
    threads: Size
    init_value: float | None

    @property
    def variant(self) -> Variant:
        """The properties that the generated kernel depends on."""
        return Variant(self.template, tuple(each.passing for each in self.inputs), self.types)


def call(
    definition: Definition,
    *,
    inputs: Sequence[Any],
    output_shapes: Sequence[Sequence[int]],
    output_dtypes: Sequence[Any],
    grid: Sequence[int],
    threadgroup: Sequence[int],
    template: Sequence[tuple[str, Any]] | None = None,
    init_value: float | None = None,
) -> Call:
    """Read the arguments of a call; raises DispatchError that names the one that is wrong."""
    name = f"[{definition.name}]"
    _check_count(f"{name} inputs", inputs, definition.input_names)
    shapes, types = shapes_and_types(definition, output_shapes, output_dtypes)
    threads_in_grid = _size(f"{name} grid", grid, least=0)
    threads = _size(f"{name} threadgroup", threadgroup, least=1)
    contiguous = definition.ensure_row_contiguous
    return Call(
        template=template_arguments(f"{name} template", template),
        inputs=tuple(
            arrays.read(value, f"{name} inputs: {each}", row_contiguous=contiguous)
            for each, value in zip(definition.input_names, inputs, strict=True)
        ),
        shapes=shapes,
        types=types,
        threads_in_grid=threads_in_grid,
        threads=_cut(threads, threads_in_grid),
        init_value=_number(f"{name} init_value", init_value),
    )


def shapes_and_types(
    definition: Definition, shapes: Sequence[Sequence[int]], dtypes: Sequence[Any]
) -> tuple[tuple[tuple[int, ...], ...], tuple[ElementType, ...]]:
    """Return shapes and types of outputs; raise DispatchError that names a wrong one."""
    name, outputs = f"[{definition.name}]", definition.output_names
    _check_count(f"{name} output_shapes", shapes, outputs)
    _check_count(f"{name} output_dtypes", dtypes, outputs)
    return (
        tuple(
            _shape(f"{name} output_shapes: {each}", value)
            for each, value in zip(outputs, shapes, strict=True)
        ),
        tuple(
            element_type(value, f"{name} output_dtypes: {each}")
            for each, value in zip(outputs, dtypes, strict=True)
        ),
    )


def _check_count(where: str, given: Sequence[Any], names: tuple[str, ...]) -> None:
    if not isinstance(given, (list, tuple)):
        raise DispatchError(f"{where}: expected a list, got {type(given).__name__}")
    if len(given) != len(names):
        listed = f"{len(names)} ({', '.join(names)})" if names else "none"
        raise DispatchError(f"{where}: expected {listed}, got {len(given)}")


def _size(where: str, given: Sequence[int], *, least: int) -> Size:
    sizes = _integers(given)
    if len(sizes) != 3 or min(sizes) < least:
        raise DispatchError(f"{where}: expected three integers of at least {least}, got {given!r}")
    return sizes[0], sizes[1], sizes[2]


def _cut(threads: Size, grid: Size) -> Size:
    return min(threads[0], grid[0]), min(threads[1], grid[1]), min(threads[2], grid[2])


def _shape(where: str, given: Sequence[int]) -> tuple[int, ...]:
    sizes = _integers(given)
    if min(sizes, default=0) < 0:
        raise DispatchError(f"{where}: expected sizes such as (4, 16), got {given!r}")
    return sizes


def _integers(given: Iterable[Any]) -> tuple[int, ...]:
    """Return the numbers of a sequence; (-1,) if it is none or holds anything else."""
    try:
        return tuple(operator.index(each) for each in given)
    except TypeError:
        return (-1,)


def _number(where: str, given: Any) -> float | None:
    if given is None:
        return None
    try:
        if not isinstance(given, str):
            return float(given)
    except (TypeError, ValueError):
        pass
    raise DispatchError(f"{where}: expected a number or None, got {given!r}")
