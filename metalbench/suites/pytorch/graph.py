"""A module's graph at one size, without values, as steps that can be written down."""

from __future__ import annotations

import keyword
import logging
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from metalbench.reference.on_torch import import_torch_for
from metalbench.suites.pytorch.module import META, Module, several

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
class Step:
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
    steps: list[Step] = field(default_factory=list)
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
    module: Module, values: Mapping[str, int], numbers: Mapping[str, str] | None = None
) -> Graph:
    """Return the graph at a size; raises TaskError where the flow depends on values.

    `numbers` are those of a graph with them: what forward makes of numbers has no values without
    memory.
    """
    return _graph(module, values, META, numbers or {})


def numbers_of(module: Module, values: Mapping[str, int]) -> Mapping[str, str]:
    """Return the tensors that forward makes of numbers; this needs memory."""
    return _graph(module, values, "cpu", {}).numbers


def _graph(
    module: Module, values: Mapping[str, int], device: str, numbers: Mapping[str, str]
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
        self._found.steps.append(Step(result, operation, arguments, options))
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


def _keep_needed(steps: list[Step], results: list[Name]) -> list[Step]:
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
