"""Assign the argument table indices of a kernel: `[[buffer(2)]]`, or the first free index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from typing import NoReturn

from metalbench._core import CompileError
from metalbench.msl.reading.arithmetic import evaluate_expression
from metalbench.msl.reading.parameters import Parameter, evaluate_attribute_index
from metalbench.msl.reading.reflect import EntryPoint

# Sizes of Metal's argument tables, by kind of argument.
TABLE_SIZES = {"buffer": 31, "threadgroup": 31, "texture": 128, "sampler": 16}


class ArgumentTable:
    """The argument tables of one kernel. An array of textures or samplers takes several indices."""

    def __init__(self, kernel: EntryPoint, names: Mapping[str, str]) -> None:
        self._kernel = kernel
        self._names = names
        self._taken: dict[tuple[str, int], Parameter] = {}
        self._found: list[tuple[Parameter, str, int]] = []
        self._waiting: list[tuple[Parameter, str]] = []

    def add(self, parameter: Parameter, kind: str) -> None:
        """Assign the indices of the parameter's attribute; without one, wait for the others.

        Raise CompileError if the indices are not constant or are in use.
        """
        attribute = next((found for found in parameter.attributes if found.name == kind), None)
        if attribute is None:
            self._waiting.append((parameter, kind))
            return
        index = evaluate_attribute_index(self._kernel.tokens, attribute, self._names)
        if index is None:
            given = self._kernel.tokens.join(attribute.first, attribute.last)
            self._fail(parameter, f"[[{kind}(n)]]: expected an integer constant, got {given}")
        self._take(parameter, kind, index)

    def assign_indices(self) -> Iterator[tuple[Parameter, str, int]]:
        """Yield parameters with kind and first index, in the order of declaration."""
        for parameter, kind in self._waiting:
            size = self._size(parameter, kind)
            free = next(
                first
                for first in count()
                if not any((kind, index) in self._taken for index in range(first, first + size))
            )
            self._take(parameter, kind, free)
        self._waiting = []
        yield from sorted(self._found, key=lambda found: found[0].position)

    def _take(self, parameter: Parameter, kind: str, first: int) -> None:
        size = self._size(parameter, kind)
        if not 0 <= first <= TABLE_SIZES[kind] - size:
            self._fail(
                parameter,
                f"[[{kind}({first})]]: expected an index from 0 to {TABLE_SIZES[kind] - size}",
            )
        for index in range(first, first + size):
            other = self._taken.setdefault((kind, index), parameter)
            if other is not parameter:
                self._fail(
                    parameter,
                    f"{kind} {index} is taken by {other.name}; give one of them another index",
                )
        self._found.append((parameter, kind, first))

    def _size(self, parameter: Parameter, kind: str) -> int:
        """Return N of array<texture2d<T>, N>; 1 for everything else."""
        words = list(parameter.pointee)
        if kind not in ("texture", "sampler") or "array" not in words:
            return 1
        close = len(words) - 1 - words[::-1].index(">")
        comma = close - 1 - words[:close][::-1].index(",")
        text = " ".join(words[comma + 1 : close])
        size = evaluate_expression(text, self._names)
        if size is None or size < 1:
            self._fail(parameter, f"expected a constant number of elements, got {text}")
        return size

    def _fail(self, parameter: Parameter, what: str) -> NoReturn:
        raise CompileError(
            f"{parameter.location}: error: [{self._kernel.name}] {parameter.name}: {what}"
        )
