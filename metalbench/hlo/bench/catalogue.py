"""The benchmarks by family and name: functions of jax and what they take.

An id is FAMILY/NAME. What a program computes under an id never changes: another size or another
formula is another name, so that results of any two runs compare.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib import import_module
from typing import Any

from metalbench.errors import DeclarationError, Unsupported, suggestion

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
    "fusion",
    "memory",
)
# A shape of float32, or a shape and the name of an element type.
Argument = tuple[int, ...] | tuple[tuple[int, ...], str]
Function = tuple[Callable[..., Any], Sequence[Any]]


@dataclass(frozen=True)
class BenchmarkProgram:
    """One benchmark; `arguments` are shapes and numpy's names of element types."""

    family: str
    name: str
    function: Callable[..., Any]
    arguments: tuple[tuple[tuple[int, ...], str], ...]

    @property
    def id(self) -> str:
        """FAMILY/NAME."""
        return f"{self.family}/{self.name}"

    def lower_to_text(self) -> str:
        """It as StableHLO, lowered by jax."""
        jax = _import_jax()
        given = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in self.arguments]
        # What is not used would be dropped, and arguments not fit any more.
        lowered = jax.jit(self.function, keep_unused=True).lower(*given)
        return str(lowered.as_text())


def list_programs() -> list[BenchmarkProgram]:
    """All of them, family by family. Raises Unsupported if jax is missing."""
    _import_jax()
    found = []
    for family in FAMILIES:
        module = import_module(f"metalbench.hlo.bench.families.{family}")
        for name, (function, arguments) in module.PROGRAMS.items():
            typed = tuple(map(_normalize_argument, arguments))
            found.append(BenchmarkProgram(family, name, function, typed))
    return found


def select_programs(patterns: Sequence[str]) -> list[BenchmarkProgram]:
    """Those that a family, a name, an id or a pattern (`matrix/*`) names; all without any.

    Raises DeclarationError if one names none.
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
