"""Trace a PyTorch module to a graph at one size, and write the task's file from it."""

from __future__ import annotations

import keyword
import logging
import re
import shutil
import textwrap
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from metalbench.errors import DeclarationError, MetalBenchError, TaskError
from metalbench.kernelbench.pytorch.inputs import same_graph, sizes_of, work_of
from metalbench.kernelbench.pytorch.module import META, TorchModule, several
from metalbench.kernelbench.pytorch.operations import Operations
from metalbench.reference.torch_form import import_torch_for
from metalbench.task import Task
from metalbench.task.workload import Workload

# Steps without effect on the values.
NOTHING = ("contiguous", "clone", "detach", "detach_", "lift_fresh_copy", "alias", "to", "type_as")
# Statistics that a norm keeps for later, and of which nothing is computed in training.
KEPT = ("running_mean", "running_var", "num_batches_tracked")
GETITEM = "getitem"


@dataclass(frozen=True)
class Name:
    """An array: an input, a parameter or an earlier step's result."""

    text: str


@dataclass(frozen=True)
class GraphStep:
    """`result = nn.operation(*arguments, **options)`."""

    result: str
    operation: str
    arguments: tuple[Any, ...]
    options: Mapping[str, Any]


@dataclass
class Graph:
    """The steps, and the shapes of what goes in and comes out; names as the task has them.

    `parameters` and `buffers` are those that are used, by the module's names. `unknown` says what
    cannot be written down; `elements` are those of all results of steps, `numbers` the texts for
    what forward makes of numbers, by the trace's names.
    """

    inputs: dict[str, tuple[int, ...]] = field(default_factory=dict)
    parameters: dict[str, tuple[int, ...]] = field(default_factory=dict)
    buffers: dict[str, tuple[int, ...]] = field(default_factory=dict)
    steps: list[GraphStep] = field(default_factory=list)
    results: list[Name] = field(default_factory=list)
    outputs: list[tuple[tuple[int, ...], str]] = field(default_factory=list)
    input_types: dict[str, str] = field(default_factory=dict)
    unknown: str = ""
    elements: int = 0
    numbers: dict[str, str] = field(default_factory=dict)

    def shapes(self) -> Iterator[tuple[int, ...]]:
        """Yield the shapes of all arrays of the task."""
        yield from (*self.inputs.values(), *self.parameters.values(), *self.buffers.values())
        yield from (shape for shape, _ in self.outputs)


def argument(name: str) -> str:
    """Return the module's name `conv.weight` as the task's: `conv_weight`."""
    plain = name.replace(".", "_")
    return f"{plain}_" if keyword.iskeyword(plain) or plain in ("nn", "y") else plain


def trace_graph(
    module: TorchModule, values: Mapping[str, int], numbers: Mapping[str, str] | None = None
) -> Graph:
    """Return the graph at a size; raises TaskError where the flow depends on values.

    `numbers` are those of a graph with them: what forward makes of numbers has no values without
    memory.
    """
    return _graph(module, values, META, numbers or {})


def numbers_of(module: TorchModule, values: Mapping[str, int]) -> Mapping[str, str]:
    """Return the tensors that forward makes of numbers; this needs memory."""
    return _graph(module, values, "cpu", {}).numbers


def _graph(
    module: TorchModule, values: Mapping[str, int], device: str, numbers: Mapping[str, str]
) -> Graph:
    torch = import_torch_for("import-torch")
    model, arguments = module.build(values, device)
    source = module.source
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Log messages in addition to the exception.
        logging.getLogger("torch._subclasses").setLevel(logging.CRITICAL + 1)
        exported = source.call_user_code(
            "forward cannot be traced (does its flow depend on values?)",
            lambda: torch.export.export(model, tuple(arguments), strict=False),
        )
    return _Reader(torch, exported, numbers).graph()


class _Reader:
    def __init__(self, torch: Any, exported: Any, numbers: Mapping[str, str]) -> None:
        self._torch = torch
        self._numbers = numbers
        self._exported = exported
        self._found = Graph()
        self._named: dict[str, Name] = {}
        # Arrays of unknown origin, with the error message for each.
        self._strange: dict[Name, str] = {}

    def graph(self) -> Graph:
        signature = self._exported.graph_signature
        specs = {each.arg.name: each for each in signature.input_specs if hasattr(each.arg, "name")}
        for node in self._exported.graph.nodes:
            if node.op == "placeholder":
                self._placeholder(node, specs.get(node.name))
            elif node.op == "call_function":
                self._step(node)
            elif node.op == "output":
                self._output(node, signature)
        self._found.steps = _keep_needed(self._found.steps, self._found.results)
        used = {*_names(tuple(each.arguments for each in self._found.steps)), *self._found.results}
        for name, what in self._strange.items():
            if name in used:
                self._unknown(what)
        return self._found

    def _placeholder(self, node: Any, spec: Any) -> None:
        kind = spec.kind.name if spec is not None else ""
        value = node.meta.get("val")
        if not isinstance(value, self._torch.Tensor):
            return
        shape = tuple(value.shape)
        if kind == "USER_INPUT":
            name = argument(node.name)
            self._found.inputs[name] = shape or (1,)
            self._found.input_types[name] = _type(value)
        elif not node.users or (kind == "BUFFER" and spec.target.endswith(KEPT)):
            name = "None"
        elif kind in ("PARAMETER", "BUFFER"):
            name = argument(spec.target)
            held = self._found.parameters if kind == "PARAMETER" else self._found.buffers
            held[spec.target] = shape or (1,)
        else:
            name = self._constant(node, spec)
        self._named[node.name] = Name(name)

    def _constant(self, node: Any, spec: Any) -> str:
        """Return the text of a tensor that forward makes of numbers."""
        value: Any = self._exported.constants.get(spec.target) if spec is not None else None
        if isinstance(value, self._torch.Tensor) and not value.is_meta and value.numel() == 1:
            text = self._found.numbers[node.name] = f"nn.number({value.item()!r})"
            return text
        if node.name in self._numbers:
            return self._numbers[node.name]
        self._strange[Name(node.name)] = f"a tensor {node.name!r} that forward makes of numbers"
        return str(node.name)

    def _step(self, node: Any) -> None:
        target = node.target
        operation = getattr(target, "__name__", str(target)).partition(".")[0]
        if operation in NOTHING and isinstance(node.args[0], self._torch.fx.Node):
            self._named[node.name] = self._named.get(node.args[0].name, Name("None"))
            if operation != "to" or not _changes_type(node):
                return
            operation = "cast"
        if operation == "copy_" and _shape(node.args[0]) == _shape(node.args[1]):
            # What was there before is nothing any more.
            copied = self._named[node.args[1].name]
            self._named[node.name] = self._named[node.args[0].name] = copied
            return
        in_place = operation.endswith("_") and not operation.endswith("__")
        result = f"{argument(node.name)}"
        taken = {argument(each) for each in (*self._found.parameters, *self._found.buffers)}
        if result in taken or result in self._found.inputs:
            result = f"{result}_of"
        arguments = tuple(map(self._convert_argument, node.args))
        options = {name: self._convert_argument(each) for name, each in node.kwargs.items()}
        value = node.meta.get("val")
        self._found.elements += value.numel() if isinstance(value, self._torch.Tensor) else 0
        operation = operation.rstrip("_") if in_place else operation
        if operation == "cast":
            arguments, options = (arguments[0], _type(node.meta["val"])), {}
        self._found.steps.append(GraphStep(result, operation, arguments, options))
        self._named[node.name] = Name(result)
        if in_place:
            self._named[node.args[0].name] = Name(result)

    def _output(self, node: Any, signature: Any) -> None:
        wanted = [each for each in signature.output_specs if each.kind.name == "USER_OUTPUT"]
        ends = several(list(node.args[0]))
        for end, _ in zip(ends[len(ends) - len(wanted) :], wanted, strict=True):
            if not isinstance(end, self._torch.fx.Node):
                self._unknown("an output that is not a tensor")
                continue
            value = end.meta["val"]
            self._found.results.append(self._named[end.name])
            self._found.outputs.append((tuple(value.shape) or (1,), _type(value)))

    def _convert_argument(self, value: Any) -> Any:
        """Convert an argument of a step for the body."""
        if isinstance(value, self._torch.fx.Node):
            return self._named.get(value.name, Name(value.name))
        if isinstance(value, (list, tuple)):
            return tuple(map(self._convert_argument, value))
        if isinstance(value, (self._torch.dtype, self._torch.device, self._torch.layout)):
            return str(value).removeprefix("torch.")
        return value

    def _unknown(self, what: str) -> None:
        self._found.unknown = self._found.unknown or what


def _keep_needed(steps: list[GraphStep], results: list[Name]) -> list[GraphStep]:
    """Without those of which nothing is used, as the count of batches that a norm has seen."""
    wanted, kept = set(results), []
    for each in reversed(steps):
        if Name(each.result) in wanted:
            kept.append(each)
            wanted |= set(_names((each.arguments, tuple(each.options.values()))))
    return kept[::-1]


def _names(value: Any) -> Iterator[Name]:
    if isinstance(value, Name):
        yield value
    elif isinstance(value, tuple):
        for each in value:
            yield from _names(each)


def _shape(node: Any) -> tuple[int, ...]:
    return tuple(node.meta["val"].shape)


def _changes_type(node: Any) -> bool:
    return bool(node.meta["val"].dtype != node.args[0].meta["val"].dtype)


def _type(value: Any) -> str:
    name = str(value.dtype).removeprefix("torch.")
    return {"int64": "int32", "float64": "float32"}.get(name, name)


# Numbers that differ from size to size, as expressions of the sizes' names.

Numbers = tuple[int, ...]
MOST_FACTOR = 64


@dataclass(frozen=True)
class Different:
    """Values at the sizes in order, for which there is no expression."""

    values: tuple[Any, ...]


@dataclass(frozen=True)
class Formula:
    """An expression of sizes, with `/` for whole division."""

    text: str


@dataclass
class Matching:
    """Find expressions of size names for numbers that differ between sizes."""

    sizes: Mapping[str, Mapping[str, int]]
    found: dict[Numbers, Any] = field(default_factory=dict)

    def of(self, values: Sequence[Any]) -> Any:
        """Return one thing for all sizes: a value, a Formula, a Different, or a tuple of them.

        Raise ValueError where they are not the same kind of thing.
        """
        first = values[0]
        if all(type(each) is type(first) and each == first for each in values):
            return first
        if all(isinstance(each, tuple) and len(each) == len(first) for each in values):
            return tuple(self.of(several) for several in zip(*values, strict=True))
        if all(type(each) is int for each in values):
            key = tuple(values)
            if key not in self.found:
                self.found[key] = self._formula(key)
            return self.found[key]
        if all(type(each) in (int, float) for each in values):
            return Different(tuple(values))
        raise ValueError("the graph is another one at another size")

    def _formula(self, wanted: Numbers) -> Formula | Different:
        for values, text in self._candidates:
            if values == wanted:
                return Formula(text)
            for factor in (2, 3, 4, 6, 8, 9, 12, 16, 32, 49, 64):
                if tuple(factor * each for each in values) == wanted:
                    return Formula(f"{factor} * {text}")
            if "*" not in text:
                formula = self._near(values, text, wanted)
                if formula:
                    return formula
        return Different(wanted)

    @staticmethod
    def _near(values: Numbers, text: str, wanted: Numbers) -> Formula | None:
        """Return a quotient, or a sum, as windows leave of an extent."""
        for part in range(1, MOST_FACTOR + 1):
            by = wanted[0] - values[0] // part
            if all(each // part + by == want for each, want in zip(values, wanted, strict=True)):
                quotient = f"{text} / {part}" if part > 1 else text
                return Formula(f"{quotient} {'+' if by > 0 else '-'} {abs(by)}" if by else quotient)
        return None

    @cached_property
    def _candidates(self) -> list[tuple[Numbers, str]]:
        return list(self._products())

    def _products(self) -> Iterator[tuple[Numbers, str]]:
        names = list(next(iter(self.sizes.values())))
        for many in (1, 2, 3):
            for chosen in combinations(names, many):
                values = []
                for each in self.sizes.values():
                    product = 1
                    for name in chosen:
                        product *= each[name]
                    values.append(product)
                yield tuple(values), " * ".join(chosen)
        for name in names:
            squares = tuple(each[name] ** 2 for each in self.sizes.values())
            yield squares, f"{name} * {name}"


def match_graphs(graphs: Sequence[Graph], sizes: Mapping[str, Mapping[str, int]]) -> Graph:
    """One graph, with expressions for its numbers; raises ValueError where they are not alike."""
    matching, first = Matching(sizes), graphs[0]
    if any(form_of(each) != form_of(first) for each in graphs):
        raise ValueError("the graph is another one at another size")

    def shapes(kind: str) -> dict[str, Any]:
        return {
            name: matching.of([getattr(each, kind)[name] for each in graphs])
            for name in getattr(first, kind)
        }

    steps = [
        GraphStep(
            several[0].result,
            several[0].operation,
            matching.of([each.arguments for each in several]),
            {
                name: matching.of([each.options[name] for each in several])
                for name in several[0].options
            },
        )
        for several in zip(*(each.steps for each in graphs), strict=True)
    ]
    outputs = [
        (matching.of([shape for shape, _ in each]), each[0][1])
        for each in zip(*(graph.outputs for graph in graphs), strict=True)
    ]
    return Graph(
        shapes("inputs"),
        shapes("parameters"),
        shapes("buffers"),
        steps,
        list(first.results),
        outputs,
        dict(first.input_types),
        next((each.unknown for each in graphs if each.unknown), ""),
    )


def form_of(graph: Graph) -> tuple[Any, ...]:
    """Return the structure of a graph without its numbers."""
    return (
        tuple(graph.inputs.items() and [(n, len(s)) for n, s in graph.inputs.items()]),
        tuple((name, len(shape)) for name, shape in graph.parameters.items()),
        tuple(graph.buffers),
        tuple(
            (step.result, step.operation, _form(step.arguments), tuple(step.options))
            for step in graph.steps
        ),
        tuple(graph.results),
        tuple(len(shape) for shape, _ in graph.outputs),
    )


def _form(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_form, value))
    return value if isinstance(value, (Name, str, bool)) or value is None else "number"


# The text of an imported module's task file.

WIDTH = 100
# Errors grow by as many layers where a file says nothing else.
DEPTH = 4


def text_of(
    name: str,
    file: str,
    graph: Graph,
    *,
    sizes: Mapping[str, Mapping[str, int]],
    flops: Sequence[int],
    title: str,
    varied: Mapping[str, bool],
    depth: int = DEPTH,
    magnitude: float = 0.0,
    why_not_mlx: str = "",
) -> str:
    """A task file; `why_not_mlx` says why PyTorch is the reference, where the body cannot be."""
    body = not why_not_mlx
    imported = sorted({"imported", "given", *(["parameter"] if graph.parameters else [])})
    imported += ["buffer"] if graph.buffers else []
    lines = [f'"""{title}"""', ""]
    lines += [f"from metalbench.kernelbench.pytorch import {', '.join(sorted(imported))}", "", ""]
    head = f"{'@' if body else f'{name} = '}imported("
    lines += [head, f'    "{name}",', f'    "{file}",', "    sizes=dict("]
    for size, values in sizes.items():
        extents = ", ".join(f"{each}={number}" for each, number in values.items())
        lines += _fill_line(f"        {size}=dict(", extents, "),")
    lines += ["    ),", "    inputs=dict(", *_inputs(graph, varied), "    ),", "    outputs=dict("]
    several = len(graph.outputs) > 1
    for place, (shape, kind) in enumerate(graph.outputs):
        called = f"y{place}" if several else "y"
        lines.append(f'        {called}=("{kind}", {_dims(shape)}),'.replace(", ),", ",),"))
    lines += ["    ),", f"    flops=({', '.join(map(str, flops))},),"]
    lines += [f"    depth={depth},"] if depth != DEPTH else []
    lines += [f"    magnitude={magnitude:g},"] if magnitude else []
    if not body:
        return "\n".join([*lines, f")(None)  # {why_not_mlx}", ""])
    lines += [")", *_body(name, graph)]
    return "\n".join([*lines, ""])


def _inputs(graph: Graph, varied: Mapping[str, bool]) -> Iterator[str]:
    for name, shape in graph.inputs.items():
        kind = graph.input_types[name]
        more = [f'dtype="{kind}"'] if kind != "float32" else []
        more += ["varied=False"] if not varied.get(name, True) else []
        yield f"        {name}=given({', '.join([_dims(shape), *more])}),"
    for what, parts in (("parameter", graph.parameters), ("buffer", graph.buffers)):
        for called, shape in parts.items():
            yield f'        {argument(called)}={what}("{called}", {_dims(shape)}),'


def _dims(shape: Sequence[Any]) -> str:
    return ", ".join(map(_dim, shape))


def _dim(each: Any) -> str:
    if isinstance(each, Formula):
        return f'"{each.text}"'
    return repr(each.values) if isinstance(each, Different) else str(each)


def _body(name: str, graph: Graph) -> Iterator[str]:
    names = [*graph.inputs, *map(argument, (*graph.parameters, *graph.buffers))]
    yield from _fill_line(f"def {name}(", ", ".join(["nn", *names]), "):")
    for step in graph.steps:
        written = [_write_value(each) for each in step.arguments]
        written += [f"{option}={_write_value(each)}" for option, each in step.options.items()]
        yield from _fill_line(f"    {step.result} = nn.{step.operation}(", ", ".join(written), ")")
    results = ", ".join(each.text for each in graph.results)
    yield f"    return {results}"


def _write_value(value: Any) -> str:
    if isinstance(value, Name):
        return value.text
    if isinstance(value, Formula):
        words = (f"nn.{each}" if each.isidentifier() else each for each in value.text.split())
        return " ".join(words).replace(" / ", " // ")
    if isinstance(value, Different):
        return f"nn.at({', '.join(map(repr, value.values))})"
    if isinstance(value, tuple):
        inner = ", ".join(map(_write_value, value))
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return f'float("{value}")'
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _fill_line(head: str, inner: str, tail: str) -> list[str]:
    """Return one line, or where that is too long the inner part below, as wide as may be."""
    if len(head) + len(inner) + len(tail) <= WIDTH:
        return [f"{head}{inner}{tail}"]
    indent = " " * (len(head) - len(head.lstrip()))
    wrapped = textwrap.wrap(
        f"{inner},", WIDTH - len(indent) - 4, break_long_words=False, break_on_hyphens=False
    )
    return [head, *(f"{indent}    {line}" for line in wrapped), f"{indent}{tail}"]


# From a file in KernelBench's format to a task folder.

# Numbers are made no smaller than that; larger ones are tried where results are not right, as of
# groups of one channel.
LEAST = (8, 32, 128, 1024)
# Errors may be relative to these multiples of the result, or to these magnitudes where a result
# cancels out.
DEPTHS = (DEPTH, 64, 1024)
MAGNITUDES = (0.0, 0.01, 1.0)
WAYS = tuple((depth, magnitude) for magnitude in MAGNITUDES for depth in DEPTHS)
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
            return Written(target, _write(TorchModule.of(path), target, least))
        except _NotRight as error:
            wrong = wrong or error
    raise wrong or AssertionError


class _NotRight(TaskError):  # noqa: N818 - what happened, as Disturbed
    """PyTorch's own results in float32 are not right at these sizes."""


def _write(module: TorchModule, target: Path, least: int) -> str:
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
        how, fault = find_tolerance(target, text(), WAYS[: len(DEPTHS)])
        if how is not None:
            target.write_text(text(**how), encoding="utf-8")
            return ""
    reason = f"no MLX: {fault}"
    how, wrong = find_tolerance(target, text(why_not_mlx=reason), WAYS)
    if how is None:
        target.unlink()
        raise _NotRight(f"[import-torch] {target}: PyTorch's own results are not right: {wrong}")
    if not why and how["magnitude"]:
        # MLX's results may be right where PyTorch's need as much.
        by_mlx, _ = find_tolerance(target, text(), WAYS)
        if by_mlx is not None:
            target.write_text(text(**by_mlx), encoding="utf-8")
            return ""
    target.write_text(text(**how, why_not_mlx=reason), encoding="utf-8")
    return reason


def _name_of(path: Path) -> str:
    plain = re.sub(r"\W+", "_", path.stem).strip("_").lower()
    return plain if plain[:1].isalpha() else f"m{plain}"


def _match(
    module: TorchModule, graphs: list[Graph], sizes: Mapping[str, Mapping[str, int]]
) -> tuple[Graph, str]:
    try:
        graph = match_graphs(graphs, sizes)
    except ValueError as error:
        raise module.source.fault(f"forward: {error}") from error
    strange = sorted({s.operation for s in graph.steps if not Operations.knows(s.operation)})
    return graph, f"{', '.join(strange)} is not known" if strange else graph.unknown


def _check(module: TorchModule, graph: Graph, small: Mapping[str, int]) -> None:
    """Raise TaskError for types that kernels have not, and for results that are drawn."""
    types = {**graph.input_types, **{f"output {i}": t for i, (_, t) in enumerate(graph.outputs)}}
    for name, kind in types.items():
        if kind not in TYPES:
            raise module.source.fault(f"{name}: expected one of {', '.join(TYPES)}, got {kind}")
    taken = {*graph.inputs, *map(argument, (*graph.parameters, *graph.buffers))} & small.keys()
    if taken:
        raise module.source.fault(f"{min(taken)!r} names an array and a number; rename one of them")
    drawn = module.draw(small)
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


def _find_varied(module: TorchModule, graph: Graph, small: Mapping[str, int]) -> dict[str, bool]:
    """Return for each argument whether normal numbers give finite results."""
    drawn = module.draw(small)
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


def find_tolerance(
    target: Path, text: str, ways: Sequence[tuple[int, float]]
) -> tuple[dict[str, Any] | None, str]:
    """Write a task file, and find the first of `ways` with which its reference is right.

    A way is a depth and a magnitude: errors may be relative to `depth` times the result, or to
    `depth` times `magnitude` where that is more. Return None, and what is wrong with the first way,
    if none of them will do.
    """
    from metalbench.kernel.library import load_task

    target.write_text(text, encoding="utf-8")
    ways, first = list(ways), ""
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
    from metalbench.verify import small_sizes

    for size in small_sizes(task):
        for seed in range(task.turn):
            work = workload(task, size, seed=seed)
            yield work, reference.outputs(work)


def _wrong(
    work: Workload, outputs: Mapping[str, np.ndarray[Any, Any]], depth: int, magnitude: float
) -> str:
    """Return an output with more than the allowed error; empty for none."""
    from metalbench.verify.tolerance import compare, derive_tolerance, measure_error_norms

    for name, got in outputs.items():
        expected, kind = work.expected[name], work.task.outputs[name].type_in(work.dtype)
        scale = depth * np.maximum(np.abs(expected), magnitude) if kind.is_float else expected
        allowance = derive_tolerance(expected, measure_error_norms(expected, got, scale), kind)
        if not compare(name, got, expected, tolerance=allowance, scale=scale).passed:
            return f"{name} at {work.size}, seed {work.seed} is not the oracle's"
    return ""
