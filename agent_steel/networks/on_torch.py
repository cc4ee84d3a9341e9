"""Networks of PyTorch: time the operations of an exported graph, and exchange some of them."""

from __future__ import annotations

import copy
import logging
import operator
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import numpy as np

from agent_steel.networks.operation import (
    LEAST_PASSES,
    MOST_PASSES,
    SEED,
    ArrayType,
    KernelCall,
    Operation,
    OperationRecord,
    Placements,
    Run,
    Values,
)
from metalbench.kernelbench.pytorch.module import ModuleSource, several
from metalbench.reference.torch_form import finish, import_torch_for, torch_device


class TorchNetwork:
    """A module of PyTorch on one device, with its inputs; it runs without gradients.

    The graph of `torch.export` is what is timed, and what has kernels in place of operations. The
    module itself is what it is compared with.
    """

    def __init__(
        self, source: ModuleSource, model: Any, arguments: Sequence[Any], kind: str
    ) -> None:
        self._torch = torch = import_torch_for("model")
        self._source = source
        self._device = torch_device(torch, kind)
        self._model = model.to(self._device)
        self._arguments = [
            each.to(self._device) if isinstance(each, torch.Tensor) else each for each in arguments
        ]
        self._graph: Any = None

    @property
    def framework(self) -> str:
        """The name and version of the framework, and its device."""
        return f"PyTorch {self._torch.__version__.partition('+')[0]} ({self._device})"

    def run(self) -> Any:
        """Run one pass as the file has it."""
        with self._quiet():
            found = self._source.call_user_code("forward", lambda: self._model(*self._arguments))
            finish(self._torch, self._device)
            return found

    def record(self, seconds: float) -> list[OperationRecord]:
        """Return the operations of a pass, timed one by one in several passes.

        Raise TaskError if `torch.export` cannot trace the module.
        """
        recorder = _make_recorder(self._torch, self._export(), self._device)
        with self._quiet():
            recorder.run(*self._arguments)  # warm up
            recorder.begin()
            end = perf_counter() + seconds
            for passes in range(1, MOST_PASSES + 1):
                recorder.run(*self._arguments)
                if passes >= LEAST_PASSES and perf_counter() >= end:
                    break
        found: list[OperationRecord] = recorder.records()
        return found

    def place(self, kernels: Placements) -> Run:
        """Return the graph with kernels in place of operations."""
        torch, exported = self._torch, self._export()
        module = torch.fx.GraphModule(exported, copy.deepcopy(exported.graph))
        for node in module.graph.nodes:
            operation = self._operations.get(node.name)
            if operation is not None and operation in kernels:
                node.target = _make_target(torch, node, kernels[operation](), operation)
        module.graph.lint()
        module.recompile()

        def run() -> Any:
            with self._quiet():
                found = module(*self._arguments)
                finish(torch, self._device)
                return found

        return run

    def outputs(self, run: Run) -> list[Values]:
        """Return the outputs of a run with the random seed 0."""
        self._torch.manual_seed(SEED)
        tensors = (each for each in several(run()) if isinstance(each, self._torch.Tensor))
        return [to_numpy(self._torch, each) for each in tensors]

    def exact_outputs(self) -> list[Values] | None:
        """Return the outputs of the module in float64 on the processor.

        None if it does not run so, and if its results depend on the random seed.
        """
        torch = self._torch
        first = self.outputs(self.run)
        torch.manual_seed(SEED + 1)
        second = [
            to_numpy(torch, each) for each in several(self.run()) if isinstance(each, torch.Tensor)
        ]
        if not all(map(np.array_equal, first, second)):
            return None
        model = copy.deepcopy(self._model).to("cpu").double()
        arguments = [_widen(torch, each) for each in self._arguments]
        try:
            with self._quiet():
                found = several(model(*arguments))
        except Exception:  # the user's code: it may need float32
            return None
        return [to_numpy(torch, each) for each in found if isinstance(each, torch.Tensor)]

    @contextmanager
    def _quiet(self) -> Iterator[None]:
        with self._torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield

    def _export(self) -> Any:
        """Return the module's graph; trace it first."""
        if self._graph is not None:
            return self._graph
        torch = self._torch
        with self._quiet():
            # Log messages in addition to the exception.
            logging.getLogger("torch._subclasses").setLevel(logging.CRITICAL + 1)
            exported = self._source.call_user_code(
                "forward cannot be traced (does its flow depend on values?)",
                lambda: torch.export.export(self._model, tuple(self._arguments), strict=False),
            )
            self._graph = exported.module()
        for node in list(self._graph.graph.nodes):
            # The check of the inputs' shapes: they are always the same.
            if node.op == "call_module" and not node.users:
                self._graph.graph.erase_node(node)
        self._graph.recompile()
        recorder = _make_recorder(torch, self._graph, self._device)
        with self._quiet():
            recorder.run(*self._arguments)
        self._operations: Mapping[str, Operation] = recorder.operations
        return self._graph


def _make_recorder(torch: Any, module: Any, device: str) -> Any:
    """Return an interpreter of a graph that times each call."""

    class Recorder(torch.fx.Interpreter):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(module)
            self.operations: dict[str, Operation] = {}
            self._samples: dict[Operation, tuple[dict[str, Values], Values | None]] = {}
            self.begin()

        def begin(self) -> None:
            self._times: dict[str, list[float]] = {}

        def run_node(self, node: Any) -> Any:
            if node.op != "call_function" or node.target is operator.getitem:
                return super().run_node(node)
            args, kwargs = self.fetch_args_kwargs_from_env(node)
            is_new = node.name not in self.operations
            named = bind_arguments(node.target, args, kwargs) if is_new else {}
            inputs = {
                name: to_numpy(torch, each)
                for name, each in named.items()
                if isinstance(each, torch.Tensor)
            }
            begun = perf_counter()
            result = node.target(*args, **kwargs)
            finish(torch, device)
            taken = perf_counter() - begun
            if is_new:
                operation = _describe(torch, node.target, named, result)
                self.operations[node.name] = operation
                first = result if isinstance(result, torch.Tensor) else None
                output = None if first is None else to_numpy(torch, first)
                self._samples.setdefault(operation, (inputs, output))
            self._times.setdefault(node.name, []).append(taken)
            return result

        def records(self) -> list[OperationRecord]:
            found: dict[Operation, OperationRecord] = {}
            for name, operation in self.operations.items():
                inputs, output = self._samples[operation]
                record = found.setdefault(
                    operation, OperationRecord(operation, inputs=inputs, output=output)
                )
                record.calls += 1
                record.seconds += min(self._times[name])
            return list(found.values())

    return Recorder()


def bind_arguments(target: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call by the names of its schema, with its defaults."""
    schema = getattr(target, "_schema", None)
    if schema is None:
        return {**{f"x{place}": each for place, each in enumerate(args)}, **kwargs}
    named = {}
    for place, each in enumerate(schema.arguments):
        if place < len(args):
            named[each.name] = args[place]
        elif each.name in kwargs:
            named[each.name] = kwargs[each.name]
        elif each.has_default_value():
            named[each.name] = each.default_value
    return named


def _describe(torch: Any, target: Any, named: Mapping[str, Any], result: Any) -> Operation:
    schema = getattr(target, "_schema", None)
    name = getattr(target, "__name__", str(target)) if schema is None else schema.name
    arguments = tuple((key, _freeze(torch, each)) for key, each in named.items())
    results = [_freeze(torch, each) for each in several(result)]
    return Operation(
        name.rpartition("::")[2],
        arguments,
        tuple(each for each in results if isinstance(each, ArrayType)),
    )


def _freeze(torch: Any, value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return ArrayType(tuple(value.shape), str(value.dtype).removeprefix("torch."))
    if isinstance(value, (list, tuple)):
        return tuple(_freeze(torch, each) for each in value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


def to_numpy(torch: Any, tensor: Any) -> Values:
    """Return the values of a tensor; it may share their memory."""
    plain = tensor.detach().cpu()
    if plain.dtype is torch.bfloat16:
        import ml_dtypes

        return np.asarray(plain.contiguous().view(torch.int16).numpy().view(ml_dtypes.bfloat16))
    return np.asarray(plain.numpy())


def _widen(torch: Any, value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    moved = value.detach().to("cpu")
    return moved.double() if moved.is_floating_point() else moved


def _make_target(
    torch: Any, node: Any, kernel: KernelCall, operation: Operation
) -> Callable[..., Any]:
    """Return a function that a node calls in place of its operation."""
    target = node.target
    nodes = bind_arguments(target, node.args, node.kwargs)
    # Parameters and buffers of the module: `get_attr` reads them.
    fixed = frozenset(
        name for name in kernel.operands if getattr(nodes[name], "op", "") == "get_attr"
    )
    (result,) = operation.results

    def kernel_in_place(*args: Any, **kwargs: Any) -> Any:
        named = bind_arguments(target, args, kwargs)
        arrays = {name: to_numpy(torch, named[name]) for name in kernel.operands}
        values = kernel(arrays, fixed)
        first = named[kernel.operands[0]]
        if values.dtype.name == "bfloat16":
            found = torch.from_numpy(values.view(np.int16).copy()).view(torch.bfloat16)
        else:
            found = torch.from_numpy(values.copy())
        kind = getattr(torch, result.dtype)
        return found.reshape(result.shape).to(device=first.device, dtype=kind)

    return kernel_in_place
