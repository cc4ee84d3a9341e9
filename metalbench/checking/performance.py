"""Compile a kernel for Apple's GPUs and report slow code: the tool `performance` of a check."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from metalbench.checking.findings import CheckFinding, Frame
from metalbench.chips import CHIPS, SIMD_WIDTH, THREADGROUP_BYTES
from metalbench.errors import DeclarationError
from metalbench.kernel.header import Dispatch, Kernel
from metalbench.kernel.prepare import (
    evaluate,
    evaluate_extents,
    find_function_constants,
    source_options,
)
from metalbench.msl import engine
from metalbench.msl.analysis.performance import (
    PerformanceFinding,
    PerformanceReport,
    analyse_performance,
)
from metalbench.msl.frontend.source import Source
from metalbench.msl.ir.model import CallInstruction
from metalbench.msl.ir.module import Module
from metalbench.msl.ir.text import IrError
from metalbench.msl.toolchain.analysis_ir import LANE, compile_for_analysis
from metalbench.msl.toolchain.run_tool import CrashedError
from metalbench.msl.vectorize.simd_functions import make_transfer_functions
from metalbench.process import gc_paused
from metalbench.task import Task
from metalbench.task.dtypes import dtype

# The chip with the fewest cores.
_FEWEST_CORES = min(chip.cores for chip in CHIPS.values())


@dataclass(frozen=True)
class Lints:
    """The findings of all dispatched kernels of a file, and why rules were skipped.

    `reports` are by kernel.
    """

    found: tuple[CheckFinding, ...]
    skipped: tuple[str, ...]
    reports: Mapping[str, PerformanceReport]


def lint_kernel(
    kernel: Kernel,
    task: Task,
    size: str,
    *,
    dtype_name: str,
    tunables: Mapping[str, int] | None = None,
) -> Lints:
    """Compile the dispatched kernels of a file and return what is slow in them.

    `size` is that of the dispatches. Nothing is run. Raises CompileError, and DeclarationError if
    lines of the file are wrong.
    """
    chosen = kernel.resolve_tunables(tunables, dtype=dtype_name)
    options = source_options(kernel, dtype(dtype_name), chosen)
    source = engine.parse(kernel.source, **options).source
    constants = find_function_constants(kernel, task, options)
    is_fast = kernel.math == "fast"
    precise = find_precise_lines(source) if is_fast else frozenset()
    reports: dict[str, PerformanceReport] = {}
    for line in kernel.dispatches:
        if line.function not in source.entry_points:
            where = f"[{task.name}] {kernel.path.name}:{line.line}"
            raise DeclarationError(f"{where}: no kernel {line.function!r}")
        if line.function not in reports:
            try:
                module = compile_for_analysis(source, line.function, constants, fast_math=is_fast)
                reports[line.function] = analyse_module(module, precise)
            except (CrashedError, IrError) as error:
                reports[line.function] = PerformanceReport([], 0, 0, 0, str(error))
    values = kernel.add_named_sizes({**task.values(size), **chosen})
    places = [
        (line, launch)
        for line in kernel.dispatches
        for launch in _lint_launch(line, task, size, values, reports)
    ]
    found = [
        _to_finding(kernel, name, each, size, dtype_name)
        for name, report in reports.items()
        for each in report.findings
    ]
    found += [_to_finding(kernel, line.function, each, size, dtype_name) for line, each in places]
    skipped = tuple(
        f"{name}: thread-array and threadgroup-memory at most were checked: {report.reason}"
        for name, report in reports.items()
        if report.reason
    )
    return Lints(tuple(found), skipped, reports)


def analyse_module(
    module: Module, precise_lines: frozenset[tuple[str, int]] = frozenset()
) -> PerformanceReport:
    """Return the report of the kernel of a module of `compile_for_analysis`."""
    with gc_paused():
        function = module.function(LANE)
        names = {
            each.name for _, each in function.instructions if isinstance(each, CallInstruction)
        }
        transfer = make_transfer_functions(SIMD_WIDTH, rows=True, names=names, serialized=())
        return analyse_performance(module, function, transfer, precise_lines)


def find_precise_lines(source: Source) -> frozenset[tuple[str, int]]:
    """Return the files and lines that name a function of `precise::`."""
    tokens = source.tokens
    places = (
        tokens.locate_token(index)
        for index in tokens.occurrences.get("precise", ())
        if tokens.at(index + 1) == "::"
    )
    return frozenset((each.file, each.line) for each in places)


def _lint_launch(
    line: Dispatch,
    task: Task,
    size: str,
    values: Mapping[str, int],
    reports: Mapping[str, PerformanceReport],
) -> Iterator[PerformanceFinding]:
    """Yield what is slow in a dispatch: few threadgroups, much threadgroup memory."""
    where = f"[{task.name}] {line.function}"
    threads = evaluate_extents(line.threads, values, f"{where} threads")
    grid = evaluate_extents(line.threadgroups or line.threads_in_grid or (), values, where)
    groups = math.prod(grid)
    if line.threadgroups is None:
        pairs = zip(grid, threads, strict=True)
        groups = math.prod(-(-extent // own) for extent, own in pairs)
    if groups < _FEWEST_CORES:
        message = (
            f"{groups} threadgroups at size {size}, fewer than the {_FEWEST_CORES} cores of the "
            "smallest chip"
        )
        yield PerformanceFinding("few-threadgroups", "", line.line, message)
    static = reports[line.function].threadgroup_bytes
    given = sum(evaluate(each, values, where) for each in line.threadgroup_bytes.values())
    if 2 * static <= THREADGROUP_BYTES < 2 * (static + given):
        message = (
            f"{static + given} B of threadgroup memory, more than half of {THREADGROUP_BYTES} B; "
            f"{given} B are of this dispatch"
        )
        yield PerformanceFinding("threadgroup-memory", "", line.line, message)


def _to_finding(
    kernel: Kernel, function: str, found: PerformanceFinding, size: str, dtype_name: str
) -> CheckFinding:
    places = ((found.file, found.line), *found.callers)
    frames = tuple(Frame(function, _find_path(kernel, file), line, 0) for file, line in places)
    return CheckFinding(found.rule, function, found.message, 1, frames, size, dtype_name)


def _find_path(kernel: Kernel, file: str) -> str:
    """Return the path of a file in debug information as the user knows it."""
    own = str(kernel.path)
    beside = kernel.path.parent / file
    # Clang names files below the current folder relative to it.
    if not file or kernel.path.resolve() in (Path(file).resolve(), beside.resolve()):
        return own
    return str(beside if beside.is_file() else file)
