"""Several kernels of a source as one text of C++, so that clang parses what they share once."""

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
    """A kernel among others; the names of its entry points end in `entry_name`.

    `entry` is how a text ends that has it alone.
    """

    kernel: EntryPoint
    entry_name: str
    bindings: Bindings
    max_threads: int
    any_order: bool
    entry: str


@dataclass(frozen=True)
class LoweredBatch:
    """C++ text for clang with the entry points of all `kernels`, which begin at `end`."""

    code: TranslationUnit
    kernels: list[BatchedKernel]
    end: int

    def separate_text(self, one: BatchedKernel) -> str:
        """The text with the entry points of one of them, as `lower` has it."""
        return f"{self.code.text[: self.end]}{one.entry}"


def find_batch_kind(source: Source, name: str) -> bool | None:
    """Whether the threads of a kernel synchronise; None of one that cannot lie beside others.

    Those that can are plain, without constants; and a threadgroup's variables are all kernels', if
    they are not taken apart again as those are whose threads synchronise. Raises CompileError if
    there is no such kernel.
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
    return None if _has_threadgroup_memory(source, reached) else False


def _has_threadgroup_memory(source: Source, reached: set[str]) -> bool:
    """Whether what is reached may have variables of a threadgroup."""
    places = source.tokens.occurrences.get("threadgroup", ())
    return any(
        each.name in reached and any(each.first <= place < each.last for place in places)
        for each in source.declarations
    )


def lower_many(
    source: Source, names: Sequence[str], *, synchronise: bool = False
) -> LoweredBatch | None:
    """The kernels `names`, which all `synchronise` or do not; None where address spaces matter.

    `find_batch_kind` says which kernels can be among them. Raises as `lower` does.
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
