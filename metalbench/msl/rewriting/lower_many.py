"""Several kernels of a source as one text of C++, so that clang and its linker start once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from metalbench.msl.reading.collectives import needs_fibers
from metalbench.msl.reading.program import Source
from metalbench.msl.reading.reflect import Kernel
from metalbench.msl.rewriting.bindings import Bindings, bind, max_threads
from metalbench.msl.rewriting.edits import Code
from metalbench.msl.rewriting.literals import refuse_double
from metalbench.msl.rewriting.lower import code_of, edited, is_any_order, reached_by


@dataclass(frozen=True)
class One:
    """A kernel among others; what the object exports of it ends in `entry_name`."""

    kernel: Kernel
    entry_name: str
    bindings: Bindings
    max_threads: int
    any_order: bool


@dataclass(frozen=True)
class Many:
    """C++ text for clang with the entry points of all `kernels`."""

    code: Code
    kernels: list[One]


def may_be_one_of_many(source: Source, name: str) -> bool:
    """Whether a kernel can lie beside others: plain, without constants, and no threads that meet.

    Raises CompileError if there is no such kernel.
    """
    kernel = source.kernel(name)
    if kernel.instantiation or source.constants:
        return False
    overloads = [each for each in source.by_name[kernel.primary.name] if each.kind == "function"]
    if len(overloads) != 1:
        return False
    reached = reached_by(source, kernel)
    if _has_threadgroup_memory(source, reached):
        return False
    return not needs_fibers(source.tokens, source.by_name, reached)


def _has_threadgroup_memory(source: Source, reached: set[str]) -> bool:
    """Whether what is reached may have variables of a threadgroup, which would be all kernels'."""
    places = source.tokens.places.get("threadgroup", ())
    return any(
        each.name in reached and any(each.first <= place < each.last for place in places)
        for each in source.declared
    )


def lower_many(source: Source, names: Sequence[str]) -> Many | None:
    """The kernels `names`, each of which `may_be_one_of_many`; None where address spaces matter.

    Raises as `lower` does.
    """
    refuse_double(source.tokens)
    kernels = [source.kernel(name) for name in names]
    reached = {kernel.name: reached_by(source, kernel) for kernel in kernels}
    edits, _, spaces = edited(source, kernels, set().union(*reached.values()), {})
    if spaces:
        return None
    found, entries = [], []
    for number, kernel in enumerate(kernels):
        bindings = bind(source, kernel, {})
        text, limit = max_threads(source, kernel)
        entry_name = f"_{number}"
        words = [entry_name, kernel.expression, f"({text})", *bindings.macros]
        entries.append(f"MB_ONE_OF_MANY({', '.join(words)})\n")
        any_order = is_any_order(reached[kernel.name])
        found.append(One(kernel, entry_name, bindings, limit, any_order))
    return Many(code_of(source, edits, "".join(entries)), found)
