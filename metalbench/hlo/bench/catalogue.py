"""Catalogue of benchmark programs: functions of JAX and the types of their arguments.

An id is FAMILY/NAME. The computation of an id never changes: another size or formula gets another
name, so that results of any two runs compare.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import numpy as np

from metalbench.errors import DeclarationError, Unsupported, suggestion
from metalbench.hlo.ir import TensorType

FAMILIES = (
    "matrix",
    "arithmetic",
    "reduction",
    "convolution",
    "normalization",
    "control_flow",
    "indexing",
    "transformer",
    "training",
    "composite",
    "network",
    "fusion",
    "memory",
)
# A shape (of float32), or a shape and the name of an element type.
Argument = tuple[int, ...] | tuple[tuple[int, ...], str]
Function = tuple[Callable[..., Any], Sequence[Any]]


@dataclass(frozen=True)
class BenchmarkProgram:
    """One benchmark; `arguments` are shapes and NumPy names of element types."""

    family: str
    name: str
    function: Callable[..., Any]
    arguments: tuple[tuple[tuple[int, ...], str], ...]

    @property
    def id(self) -> str:
        """Identifier FAMILY/NAME."""
        return f"{self.family}/{self.name}"

    def lower_to_text(self) -> str:
        """Return the program as StableHLO text, lowered by JAX."""
        jax = _import_jax()
        given = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in self.arguments]
        # JAX would drop unused arguments, and the remaining ones would not match.
        lowered = jax.jit(self.function, keep_unused=True).lower(*given)
        return str(lowered.as_text())


def list_programs() -> list[BenchmarkProgram]:
    """Return all programs, family by family. Raise Unsupported if JAX is missing."""
    _import_jax()
    from metalbench.hlo.bench import families

    tables: dict[str, Any] = {}
    for module in iter_modules(families.__path__):
        tables.update(vars(import_module(f"{families.__name__}.{module.name}")))
    found = []
    for family in FAMILIES:
        for name, (function, arguments) in tables[family.upper()].items():
            typed = tuple(map(_normalize_argument, arguments))
            found.append(BenchmarkProgram(family, name, function, typed))
    return found


def select_programs(patterns: Sequence[str]) -> list[BenchmarkProgram]:
    """Return the programs that match a family, name, id or glob pattern; all without patterns.

    Raise DeclarationError if a pattern matches no program.
    """
    every = list_programs()
    if not patterns:
        return every
    known = [*FAMILIES, *(each.name for each in every), *(each.id for each in every)]
    found: dict[str, BenchmarkProgram] = {}
    for pattern in patterns:
        named = [
            each
            for each in every
            if pattern in (each.family, each.name) or fnmatchcase(each.id, pattern)
        ]
        if not named:
            raise DeclarationError(
                f"[hlo] no program and no file {pattern}; {suggestion(pattern, known)}"
            )
        found.update((each.id, each) for each in named)
    return list(found.values())


def _normalize_argument(argument: Any) -> tuple[tuple[int, ...], str]:
    """Return the shape and element type of an argument; the default is float32."""
    if len(argument) == 2 and isinstance(argument[1], str):
        return argument[0], argument[1]
    return argument, "float32"


def _import_jax() -> Any:
    try:
        import jax
    except ImportError as error:
        raise Unsupported(
            f"benchmarks by name are functions of jax: {error}; "
            "install it: pip install 'metalbench[jax]', or name .mlir files"
        ) from error
    return jax


# Draw random arguments of a program.

Array = np.ndarray[Any, Any]


def draw_arguments(inputs: Sequence[TensorType], seed: int) -> list[Array]:
    """Return random arrays: normally distributed floats and complex numbers, small integers."""
    generator = np.random.default_rng(seed)
    arrays = []
    for type_ in inputs:
        element = type_.element
        numbers: Any = generator.standard_normal(type_.shape)
        if element.is_complex:
            numbers = numbers + 1j * generator.standard_normal(type_.shape)
        elif not element.is_float:
            numbers = generator.integers(0, 2 if element.bits <= 2 else 8, type_.shape)
        arrays.append(np.asarray(numbers).astype(element.numpy))
    return arrays
