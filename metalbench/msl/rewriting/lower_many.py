"""Lower several kernels of a source to one translation unit, so that clang parses it once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from metalbench.msl.reading.collectives import requires_fibers
from metalbench.msl.reading.program import Source
from metalbench.msl.reading.reflect import EntryPoint
from metalbench.msl.rewriting.bindings import Bindings, bind_parameters, read_max_threads
from metalbench.msl.rewriting.edits import TranslationUnit
from metalbench.msl.rewriting.literals import refuse_double
from metalbench.msl.rewriting.lower import (
    build_translation_unit,
    can_run_in_any_order,
    find_reachable_names,
    rewrite_source,
)


@dataclass(frozen=True)
class BatchedKernel:
    """One kernel of a batch. The names of its entry points end in `entry_name`.

    `entry` is the macro call for a text with this kernel alone.
    """

    kernel: EntryPoint
    entry_name: str
    bindings: Bindings
    max_threads: int
    any_order: bool
    entry: str


@dataclass(frozen=True)
class LoweredBatch:
    """C++ text for clang with the entry points of all `kernels`, which begin at offset `end`."""

    code: TranslationUnit
    kernels: list[BatchedKernel]
    end: int

    def separate_text(self, one: BatchedKernel) -> str:
        """Return the text with the entry points of one kernel, as `lower` returns it."""
        return f"{self.code.text[: self.end]}{one.entry}"


def find_batch_kind(source: Source, name: str) -> bool | None:
    """Return whether the threads of a kernel synchronise; None if it cannot be part of a batch.

    A kernel in a batch has no function constants, no overloads and no template arguments. If its
    threads do not synchronise, it also has no threadgroup variables, because these would be shared
    by all kernels of the module. Raise CompileError for an unknown kernel.
    """
    kernel = source.find_entry_point(name)
    if kernel.instantiation or source.constants:
        return None
    overloads = [
        each for each in source.declarations_by_name[kernel.primary.name] if each.kind == "function"
    ]
    if len(overloads) != 1:
        return None
    reached = find_reachable_names(source, kernel)
    if requires_fibers(source.tokens, source.declarations_by_name, reached):
        return True
    return None if _uses_threadgroup_memory(source, reached) else False


def _uses_threadgroup_memory(source: Source, reached: set[str]) -> bool:
    """Return whether reachable declarations mention `threadgroup`."""
    places = source.tokens.occurrences.get("threadgroup", ())
    return any(
        each.name in reached and any(each.first <= place < each.last for place in places)
        for each in source.declarations
    )


def lower_many(
    source: Source, names: Sequence[str], *, synchronise: bool = False
) -> LoweredBatch | None:
    """Lower kernels that all `synchronise`, or none; return None if they need address spaces.

    All must be allowed by `find_batch_kind`. Raise as `lower` does.
    """
    refuse_double(source.tokens)
    kernels = [source.find_entry_point(name) for name in names]
    reached = {kernel.name: find_reachable_names(source, kernel) for kernel in kernels}
    edits, _, spaces = rewrite_source(source, kernels, set().union(*reached.values()), {})
    if spaces:
        return None
    found, entries = [], []
    for number, kernel in enumerate(kernels):
        bindings = bind_parameters(source, kernel, {})
        text, limit = read_max_threads(source, kernel)
        entry_name, any_order = f"_{number}", can_run_in_any_order(reached[kernel.name])
        rest = ", ".join([f"({text})", *bindings.macros])
        entries.append(f"MB_ONE_OF_MANY({entry_name}, {kernel.expression}, {rest})\n")
        entry = f"MB_KERNEL({kernel.expression}, {int(synchronise)}, {rest})\n"
        found.append(BatchedKernel(kernel, entry_name, bindings, limit, any_order, entry))
    if synchronise:
        entries.append("MB_OF_ALL\n")
    code = build_translation_unit(source, edits, "".join(entries))
    return LoweredBatch(code, found, len(code.text) - sum(map(len, entries)))
