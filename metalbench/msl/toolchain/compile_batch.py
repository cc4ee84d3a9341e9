"""Compile kernels of one translation unit: split its LLVM module, compile the parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from functools import partial
from heapq import heappop, heappush

from metalbench import build_cache
from metalbench._core import CompileError
from metalbench.msl.frontend.lower import (
    BatchedKernel,
    LoweredBatch,
    find_batch_kind,
    is_metal4,
    lower_many,
)
from metalbench.msl.frontend.source import Source
from metalbench.msl.ir.cut import PartitionedModule, drop_unused_metadata
from metalbench.msl.ir.module import Module
from metalbench.msl.ir.text import IrError
from metalbench.msl.toolchain.clang import (
    QUICK_FLAGS,
    BuildOptions,
    find_toolchain,
    list_flags,
)
from metalbench.msl.toolchain.compile import (
    O3_LIMITS,
    MessageTranslator,
    assemble,
    check_stack_usage,
    generate_ir,
)
from metalbench.msl.toolchain.compile_kernel import (
    build_entry,
    check_size,
    compile_kernel,
    list_lane_flags,
    list_widths,
)
from metalbench.msl.toolchain.compiler_pool import open_compiler_pool
from metalbench.msl.toolchain.diagnostics import Diagnostics
from metalbench.msl.toolchain.host_calls import refuse_host_calls
from metalbench.msl.toolchain.symbols import explain_undefined
from metalbench.msl.transforms.metal_semantics import give_metal_semantics
from metalbench.msl.vectorize.body import LaunchShape
from metalbench.process import usable_cores

# Mean length of a part's functions in LLVM IR. With its metadata, a module has about a line for 24
# characters of them (kernels of convolutions). A larger module would be compiled with few passes,
# and with it all of its kernels. A part may be larger than the mean.
MAX_PART_LENGTH = 24 * O3_LIMITS.module_lines // 2
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
            lambda said: explain_undefined(said, source),
            lambda ir: refuse_host_calls(ir, source, many.code),
        )
        if synchronise:
            self._options = list_lane_flags(many.code, fast_math=fast_math)
            parsing = self._options
        else:
            metal4 = is_metal4(many.code.text)
            self._options = list_flags(checked=False, fast_math=fast_math, metal4=metal4)
            # The same options for quick kernels, so that they use the same precompiled preamble.
            parsing = [*self._options, "-Xclang", "-disable-llvm-passes"]
            if source.compiles_quickly:
                self._options = [each for each in self._options if each != "-O3"] + QUICK_FLAGS
        # A source for a batch is rarely the only one, and a preamble that only one source has takes
        # a fifth longer.
        kind = {"make_head": make_head, "at_once": True}
        whole = Module(generate_ir(many.code, self._tools, parsing, self._translate, **kind))
        if not synchronise:
            give_metal_semantics(whole, checked=False)
        self._kernels = {one.kernel.name: one for one in many.kernels}
        self._module = PartitionedModule(
            whole, [each for one in many.kernels for each in self._list_entry_points(one)]
        )

    def partition(self, count: int) -> list[list[str]]:
        """Return the names in parts that are compiled together, the longest first.

        One part a kernel for vectors. For loops `count` parts, or more if these would be too large
        for all passes.
        """
        weights = {
            name: sum(map(self._module.weight, self._list_entry_points(one)))
            for name, one in self._kernels.items()
        }
        count = max(count, -(-sum(weights.values()) // MAX_PART_LENGTH))
        found: list[list[str]] = [
            [] for _ in range(len(weights) if self._synchronise else min(count, len(weights)))
        ]
        for name in sorted(weights, key=lambda each: -weights[each]):
            min(found, key=lambda piece: sum(weights[each] for each in piece)).append(name)
        return found

    def compile_part(self, piece: Sequence[str]) -> dict[str, build_cache.Record]:
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
        return build_cache.digest(kind, *made_of)

    def _compile_loops(self, kernels: Sequence[BatchedKernel]) -> dict[str, build_cache.Record]:
        """Compile kernels to one shared object; store the text next to it."""
        names = [one.kernel.name for one in kernels]
        module = self._module.part(
            [each for one in kernels for each in self._list_entry_points(one)]
        )
        target = build_cache.locate_file(self._make_key("objects", names), ".so")
        reasons = ["its threads do not synchronise"]
        with build_cache.write_atomically(target) as path:
            ir = drop_unused_metadata(str(module))
            frames = assemble(
                ir, path, self._tools, self._translate, self._options, reasons=reasons
            )
            check_stack_usage(frames, " ".join(names), self._tools.headers, together=False)
            if self._tools.target.debug_in_object:
                path.with_suffix(".o").replace(target.with_suffix(".o"))
            with build_cache.write_atomically(target.with_suffix(".cpp")) as text:
                text.write_text(self._many.code.text)
        common = {
            "path": str(target),
            "object": build_cache.digest_file(target),
            "engine": "loops",
            "reason": "; ".join(reasons),
            "widths": (),
            "lane": "",
        }
        return {
            one.kernel.name: common | self._make_common_record(one) | {"entry_name": one.entry_name}
            for one in kernels
        }

    def _compile_vectors(self, one: BatchedKernel) -> build_cache.Record:
        """Extract one kernel's lane, as if parsed alone; compile its most common launch."""
        entries = self._list_entry_points(one)
        module = self._module.part(entries)
        module.rename_globals(
            {f"@{each}": f"@{each.removesuffix(one.entry_name)}" for each in entries}
        )
        lane = build_cache.locate_file(self._make_key("lane", [one.kernel.name]), ".ll")
        for path, text in (
            (lane, drop_unused_metadata(str(module))),
            (lane.with_suffix(".cpp"), self._many.separate_text(one)),
        ):
            with build_cache.write_atomically(path) as file:
                file.write_text(text)
        check_size(lane)
        widths = list_widths(lane)
        launch = LaunchShape(widths[0], rows=True)
        reasons: list[str] = []
        path = build_entry(
            lane, launch, one.kernel.name, fast_math=self._fast_math, reasons=reasons
        )
        return self._make_common_record(one) | {
            "path": str(path),
            "object": build_cache.digest_file(path),
            "engine": "vectors",
            "reason": "; ".join(reasons),
            "widths": widths,
            "lane": str(lane),
        }

    def _make_common_record(self, one: BatchedKernel) -> build_cache.Record:
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


# Compile several kernels of a source on all processors; clang parses shared code once.

# Fewer kernels compile as fast separately. More could exceed the limits of one run of clang.
_MIN_BATCH, _MAX_BATCH = 2, 64
LONGEST_WAIT_S = 0.5


@dataclass(order=True)
class _CompileTask:
    """One task; lower ranks run first: tasks that start others, then long ones."""

    rank: int
    do: Callable[[], _TaskResult] = field(compare=False)


@dataclass
class _TaskResult:
    """Records of compiled kernels, and the tasks that can run now."""

    records: dict[str, build_cache.Record] = field(default_factory=dict)
    then: list[_CompileTask] = field(default_factory=list)


def compile_many(
    source: Source, names: Sequence[str], options: BuildOptions
) -> dict[str, build_cache.Record]:
    """Compile kernels without function constants; return records as `compile_kernel` does.

    Kernels that do not compile are missing in the result; compile them with `compile_kernel` for
    the error. Raise CompileError for an unknown kernel.
    """
    cores = usable_cores()
    kinds = {name: find_batch_kind(source, name) for name in names}
    lanes = [name for name in names if kinds[name]] if options.mode == "vectors" else []
    loops = [name for name in names if kinds[name] is False]
    if len(lanes) < _MIN_BATCH:
        lanes = []
    tasks = []
    for synchronise, parts in (
        (True, _split_names(lanes, cores // 2)),
        (False, _split_names(loops, cores - bool(lanes))),
    ):
        for part in parts:
            kind = {"synchronise": synchronise, "make_head": part is parts[0]}
            pieces = -(-cores // len(parts))
            tasks.append(
                _CompileTask(0, partial(_parse_part, source, part, options, pieces, **kind))
            )
    rest = [name for name in names if name not in {*lanes, *loops}]
    tasks += [_CompileTask(1, partial(_compile_one, source, each, options)) for each in rest]
    return _run_tasks(tasks, cores)


def _split_names(names: Sequence[str], count: int) -> list[Sequence[str]]:
    """Split names into about `count` parts that are parsed together."""
    count = max(min(count, len(names) // _MIN_BATCH), -(-len(names) // _MAX_BATCH))
    # Long kernels are often adjacent in a source.
    return [names[number::count] for number in range(count)]


def _run_tasks(tasks: Iterable[_CompileTask], cores: int) -> dict[str, build_cache.Record]:
    """Run these tasks and their successors; return all records."""
    found: dict[str, build_cache.Record] = {}
    ready = sorted(tasks)
    running: set[Future[_TaskResult]] = set()
    with open_compiler_pool(cores) as pool:
        while ready or running:
            while ready and len(running) < cores:
                running.add(pool.submit(heappop(ready).do))
            # Python raises the exception of an interrupted thread between two waits.
            done, running = wait(running, LONGEST_WAIT_S, FIRST_COMPLETED)
            for step in (each.result() for each in done):
                found |= step.records
                for each in step.then:
                    heappush(ready, each)
    return found


def _compile_one(source: Source, name: str, options: BuildOptions) -> _TaskResult:
    try:
        return _TaskResult({name: compile_kernel(source, name, {}, options)})
    except CompileError:
        return _TaskResult()


def _parse_part(
    source: Source, names: Sequence[str], options: BuildOptions, pieces: int, **kind: bool
) -> _TaskResult:
    """Run clang's front end for some kernels; return tasks for up to `pieces` parts.

    Of concurrent parts, only the first one precompiles the preamble (`kind`).
    """
    try:
        parsed = parse_batch(source, names, fast_math=options.fast_math, **kind)
    except CompileError:
        return _TaskResult()
    if parsed is None:
        return _TaskResult()
    # Kernels that synchronise compile in short tasks, which fill the time after the others.
    rank = 3 if kind["synchronise"] else 2
    found = parsed.partition(pieces)
    return _TaskResult(
        then=[_CompileTask(rank, partial(_compile_piece, parsed, each)) for each in found]
    )


def _compile_piece(parsed: BatchedTranslationUnit, piece: Sequence[str]) -> _TaskResult:
    try:
        return _TaskResult(parsed.compile_part(piece))
    except (CompileError, IrError):
        return _TaskResult()
