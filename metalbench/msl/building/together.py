"""Compile kernels of one translation unit: split its LLVM module, compile the parts."""

from __future__ import annotations

from collections.abc import Sequence

from metalbench.msl.building import cache
from metalbench.msl.building.compiler import MessageTranslator, assemble, generate_ir
from metalbench.msl.building.diagnostics import Diagnostics
from metalbench.msl.building.frames import check_stack_usage
from metalbench.msl.building.host_calls import refuse_host_calls
from metalbench.msl.building.toolchain import find_toolchain, list_flags
from metalbench.msl.building.undefined import undefined
from metalbench.msl.building.vectors import entry_of, lane_flags, widths_of
from metalbench.msl.emission.body import LaunchShape
from metalbench.msl.ir.cut import PartitionedModule, rename_globals
from metalbench.msl.ir.module import Module
from metalbench.msl.reading.program import Source
from metalbench.msl.rewriting.lower_many import BatchedKernel, LoweredBatch, lower_many
from metalbench.msl.transforms.metal_semantics import give_metal_semantics

# The entry points of each kernel; the kernel's suffix follows.
_LOOP_ENTRIES, _LANE_ENTRIES = ("mb_span", "mb_info"), ("mb_vector_source", "mb_info")


class BatchedTranslationUnit:
    """A module with several kernels, whose threads all `synchronise`, or all do not.

    With `make_head` the preamble may be precompiled. Raise CompileError if clang does.
    """

    def __init__(
        self,
        source: Source,
        many: LoweredBatch,
        *,
        synchronise: bool,
        fast_math: bool,
        make_head: bool,
    ) -> None:
        self._many, self._synchronise, self._fast_math = many, synchronise, fast_math
        self._tools = find_toolchain()
        self._translate = MessageTranslator(
            Diagnostics(source, many.code).translate,
            lambda said: undefined(said, source),
            lambda ir: refuse_host_calls(ir, source, many.code),
        )
        if synchronise:
            self._options = lane_flags(many.code, fast_math=fast_math)
            parsing = self._options
        else:
            self._options = list_flags(checked=False, fast_math=fast_math)
            parsing = [*self._options, "-Xclang", "-disable-llvm-passes"]
        text = generate_ir(many.code, self._tools, parsing, self._translate, make_head=make_head)
        if not synchronise:
            whole = Module(text)
            give_metal_semantics(whole, checked=False)
            text = str(whole)
        self._kernels = {one.kernel.name: one for one in many.kernels}
        self._module = PartitionedModule(
            text, [each for one in many.kernels for each in self._list_entry_points(one)]
        )

    def partition(self, count: int) -> list[list[str]]:
        """Return the names in parts that are compiled together, the longest first.

        At most `count` parts for loops, one part a kernel for vectors.
        """
        weights = {
            name: sum(map(self._module.weight, self._list_entry_points(one)))
            for name, one in self._kernels.items()
        }
        found: list[list[str]] = [
            [] for _ in range(len(weights) if self._synchronise else min(count, len(weights)))
        ]
        for name in sorted(weights, key=lambda each: -weights[each]):
            min(found, key=lambda piece: sum(weights[each] for each in piece)).append(name)
        return found

    def compile_part(self, piece: Sequence[str]) -> dict[str, cache.Record]:
        """Compile the kernels of one part; return records as `compile_kernel` does.

        Raise CompileError, and IrError if a kernel cannot be vectorised.
        """
        if self._synchronise:
            return {name: self._compile_vectors(self._kernels[name]) for name in piece}
        return self._compile_loops([self._kernels[name] for name in piece])

    def _list_entry_points(self, one: BatchedKernel) -> list[str]:
        return [
            f"{each}{one.entry_name}"
            for each in (_LANE_ENTRIES if self._synchronise else _LOOP_ENTRIES)
        ]

    def _make_key(self, kind: str, names: Sequence[str]) -> str:
        made_of = (self._tools.key, repr(self._options), self._many.code.text, *names)
        return cache.digest(kind, *made_of)

    def _compile_loops(self, kernels: Sequence[BatchedKernel]) -> dict[str, cache.Record]:
        """Compile kernels to one shared object; store the text next to it."""
        names = [one.kernel.name for one in kernels]
        module = self._module.part(
            [each for one in kernels for each in self._list_entry_points(one)]
        )
        target = cache.locate_file(self._make_key("objects", names), ".so")
        with cache.write_atomically(target) as path:
            frames = assemble(module, path, self._tools, self._translate, self._options)
            check_stack_usage(frames, " ".join(names), self._tools.headers, together=False)
            if self._tools.target.debug_in_object:
                path.with_suffix(".o").replace(target.with_suffix(".o"))
            with cache.write_atomically(target.with_suffix(".cpp")) as text:
                text.write_text(self._many.code.text)
        common = {
            "path": str(target),
            "object": cache.digest_file(target),
            "engine": "loops",
            "reason": "its threads do not synchronise",
            "widths": (),
            "lane": "",
        }
        return {
            one.kernel.name: common | self._make_common_record(one) | {"entry_name": one.entry_name}
            for one in kernels
        }

    def _compile_vectors(self, one: BatchedKernel) -> cache.Record:
        """Extract one kernel's lane, as if parsed alone; compile its most common launch."""
        entries = self._list_entry_points(one)
        module = self._module.part(entries)
        names = {each: each.removesuffix(one.entry_name) for each in entries}
        module = rename_globals(module, names)
        lane = cache.locate_file(self._make_key("lane", [one.kernel.name]), ".ll")
        for path, text in (
            (lane, module),
            (lane.with_suffix(".cpp"), self._many.separate_text(one)),
        ):
            with cache.write_atomically(path) as file:
                file.write_text(text)
        widths = widths_of(lane)
        launch = LaunchShape(widths[0], rows=True)
        path = entry_of(lane, launch, one.kernel.name, fast_math=self._fast_math)
        return self._make_common_record(one) | {
            "path": str(path),
            "object": cache.digest_file(path),
            "engine": "vectors",
            "reason": "",
            "widths": widths,
            "lane": str(lane),
        }

    def _make_common_record(self, one: BatchedKernel) -> cache.Record:
        return {
            "name": one.kernel.name,
            "arguments": one.bindings.arguments,
            "attributes": one.bindings.attributes,
            "max_threads": one.max_threads,
            "needs_fibers": self._synchronise,
            "fast_math": self._fast_math,
            "spaces": False,
            "any_order": one.any_order,
        }


def parse_batch(
    source: Source, names: Sequence[str], *, synchronise: bool, fast_math: bool, make_head: bool
) -> BatchedTranslationUnit | None:
    """Parse kernels that `find_batch_kind` allows; return None if they need address spaces.

    Raise CompileError.
    """
    many = lower_many(source, names, synchronise=synchronise)
    if many is None:
        return None
    kind = {"synchronise": synchronise, "fast_math": fast_math, "make_head": make_head}
    return BatchedTranslationUnit(source, many, **kind)
