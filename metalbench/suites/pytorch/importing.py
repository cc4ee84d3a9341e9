"""From a file in KernelBench's format to a task folder."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from metalbench.errors import DeclarationError, MetalBenchError, TaskError
from metalbench.suites.pytorch.graph import Graph, argument, numbers_of, trace_graph
from metalbench.suites.pytorch.matching import form_of, match_graphs
from metalbench.suites.pytorch.module import Module
from metalbench.suites.pytorch.operations import Operations
from metalbench.suites.pytorch.sizes import same_graph, sizes_of, work_of
from metalbench.suites.pytorch.writing import DEPTH, text_of
from metalbench.task import Task
from metalbench.task.workload import Workload

# Numbers are made no smaller than that; larger ones are tried where results are not right, as of
# groups of one channel.
LEAST = (8, 32, 128, 1024)
# What errors may be relative to, as multiples of the result; of results that cancel out of numbers
# so large.
DEPTHS = (DEPTH, 64, 1024)
MAGNITUDES = (0.0, 0.01, 1.0)
TYPES = ("float32", "int32", "uint8", "bool")


@dataclass(frozen=True)
class Written:
    """The task's file, and why PyTorch is its reference, where MLX is not."""

    path: Path
    why_not_mlx: str


def import_module(path: Path, folder: Path, name: str = "") -> Written:
    """Write the task of the module in `path` to `folder`: NAME.py, and _NAME_module.py, a copy.

    Raise TaskError, with file and place, for a file that is not in KernelBench's format, that does
    not run, or whose results or control flow depend on more than the inputs.
    """
    name = name or _name_of(path)
    if not name.isidentifier():
        raise DeclarationError(f"[import-torch] --name: expected an identifier, got {name!r}")
    target = folder / f"{name}.py"
    wrong: TaskError | None = None
    for least in LEAST:
        try:
            return Written(target, _write(Module.of(path), target, least))
        except _NotRight as error:
            wrong = wrong or error
    raise wrong or AssertionError


class _NotRight(TaskError):  # noqa: N818 - what happened, as Disturbed
    """PyTorch's own results in float32 are not right at these sizes."""


def _write(module: Module, target: Path, least: int) -> str:
    """Write the task with no number below `least`; why PyTorch is the reference, if it is."""
    at = lru_cache(lambda key: trace_graph(module, dict(key)))

    def form(values: Mapping[str, int]) -> object:
        with suppress(TaskError):
            return form_of(at(tuple(values.items())))
        return None

    at(tuple(module.source.extents.items()))  # raises the error of the original size
    sizes = same_graph(sizes_of(module, least), form)
    graphs = [at(tuple(values.items())) for values in sizes.values()]
    if any(each.unknown for each in graphs):
        numbers = numbers_of(module, sizes["small"])
        graphs = [trace_graph(module, values, numbers) for values in sizes.values()]
    _check(module, graphs[0], sizes["small"])
    graph, why = _match(module, graphs, sizes)
    works = [work_of(module, values) for values in sizes.values()]
    path, copied = module.source.path, f"_{target.stem}_module.py"
    parts: dict[str, Any] = {
        "sizes": sizes,
        "flops": [w.products + g.elements for w, g in zip(works, graphs, strict=True)],
        "title": f"The module of {path.name}, imported from PyTorch.",
        "varied": _find_varied(module, graphs[0], sizes["small"]),
    }
    target.parent.mkdir(parents=True, exist_ok=True)
    if path.resolve() != (target.parent / copied).resolve():
        shutil.copyfile(path, target.parent / copied)
    return _settle(target, lambda **how: text_of(target.stem, copied, graph, **parts, **how), why)


def _settle(target: Path, text: Callable[..., str], why: str) -> str:
    """Write the first text whose results are right, and say why it is PyTorch's, if it is.

    Errors of deep networks grow, also PyTorch's own, and those of sums that cancel out have nothing
    to be relative to: they are taken relative to a multiple of the result, or of a number, as
    little as will do. Raise TaskError where nothing does.
    """
    fault = why
    if not why:
        how, fault = _enough(target, text(), MAGNITUDES[:1])
        if how is not None:
            target.write_text(text(**how), encoding="utf-8")
            return ""
    reason = f"no MLX: {fault}"
    how, wrong = _enough(target, text(why_not_mlx=reason), MAGNITUDES)
    if how is None:
        target.unlink()
        raise _NotRight(f"[import-torch] {target}: PyTorch's own results are not right: {wrong}")
    if not why and how["magnitude"]:
        # MLX's results may be right where PyTorch's need as much.
        by_mlx, _ = _enough(target, text(), MAGNITUDES)
        if by_mlx is not None:
            target.write_text(text(**by_mlx), encoding="utf-8")
            return ""
    target.write_text(text(**how, why_not_mlx=reason), encoding="utf-8")
    return reason


def _name_of(path: Path) -> str:
    plain = re.sub(r"\W+", "_", path.stem).strip("_").lower()
    return plain if plain[:1].isalpha() else f"m{plain}"


def _match(
    module: Module, graphs: list[Graph], sizes: Mapping[str, Mapping[str, int]]
) -> tuple[Graph, str]:
    try:
        graph = match_graphs(graphs, sizes)
    except ValueError as error:
        raise module.source.fault(f"forward: {error}") from error
    strange = sorted({s.operation for s in graph.steps if not Operations.knows(s.operation)})
    return graph, f"{', '.join(strange)} is not known" if strange else graph.unknown


def _check(module: Module, graph: Graph, small: Mapping[str, int]) -> None:
    """Raise TaskError for types that kernels have not, and for results that are drawn."""
    types = {**graph.input_types, **{f"output {i}": t for i, (_, t) in enumerate(graph.outputs)}}
    for name, kind in types.items():
        if kind not in TYPES:
            raise module.source.fault(f"{name}: expected one of {', '.join(TYPES)}, got {kind}")
    taken = {*graph.inputs, *map(argument, (*graph.parameters, *graph.buffers))} & small.keys()
    if taken:
        raise module.source.fault(f"{min(taken)!r} names an array and a number; rename one of them")
    drawn = module.drawn(small)
    inputs = [each for each in drawn.arguments if isinstance(each, np.ndarray)]
    results = [module.exact(small, inputs, drawn.parameters, seed=seed) for seed in (0, 1)]
    for one, other in zip(*results, strict=True):
        if not np.array_equal(one, other, equal_nan=one.dtype.kind == "f"):
            raise module.source.fault(
                "forward: two runs on the same inputs differ: it draws random numbers, as dropout "
                "does in training; take them as an argument, or leave them out"
            )
    if not all(np.isfinite(each).all() for each in results[0]):
        raise module.source.fault("forward: expected finite results of get_inputs, got others")


def _find_varied(module: Module, graph: Graph, small: Mapping[str, int]) -> dict[str, bool]:
    """Return for each argument whether normal numbers give finite results."""
    drawn = module.drawn(small)
    inputs = [each for each in drawn.arguments if isinstance(each, np.ndarray)]
    random = np.random.default_rng(0)
    found = {}
    for place, name in enumerate(graph.inputs):
        if inputs[place].dtype.kind != "f":
            continue
        changed = list(inputs)
        changed[place] = np.asarray(random.standard_normal(inputs[place].shape), np.float32)
        results = module.exact(small, changed, drawn.parameters)
        found[name] = all(np.isfinite(each).all() for each in results)
    return found


def _enough(
    target: Path, text: str, magnitudes: Sequence[float]
) -> tuple[dict[str, Any] | None, str]:
    """Write the file, and find the least depth and magnitude with which its reference is right.

    None and what is wrong at the least where none of them will do.
    """
    from metalbench.kernel.library import load_task

    target.write_text(text, encoding="utf-8")
    ways = [(depth, each) for each in magnitudes for depth in DEPTHS]
    first = ""
    try:
        for work, outputs in _run_references(load_task(target)):
            while ways and (wrong := _wrong(work, outputs, *ways[0])):
                first = first or wrong
                ways.pop(0)
    except MetalBenchError as error:
        return None, str(error).partition(chr(10))[0]
    if not ways:
        return None, first
    return {"depth": ways[0][0], "magnitude": ways[0][1]}, ""


def _run_references(task: Task) -> Iterator[tuple[Workload, Mapping[str, np.ndarray[Any, Any]]]]:
    """Yield the reference's outputs at small sizes, with inputs of all kinds."""
    from metalbench import reference
    from metalbench.task.workload import workload

    for size in ("small", "odd"):
        for seed in range(task.turn):
            work = workload(task, size, seed=seed)
            yield work, reference.outputs(work)


def _wrong(
    work: Workload, outputs: Mapping[str, np.ndarray[Any, Any]], depth: int, magnitude: float
) -> str:
    """Return an output with more than the allowed error; empty for none."""
    from metalbench.verify.error_rule import compare, derive_tolerance, measure_error_norms

    for name, got in outputs.items():
        expected, kind = work.expected[name], work.task.outputs[name].type_in(work.dtype)
        scale = depth * np.maximum(np.abs(expected), magnitude) if kind.is_float else expected
        allowance = derive_tolerance(expected, measure_error_norms(expected, got, scale), kind)
        if not compare(name, got, expected, tolerance=allowance, scale=scale).passed:
            return f"{name} at {work.size}, seed {work.seed} is not the oracle's"
    return ""
