"""PyTorch itself: the oracle in float64, and the baseline on the device that it has."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from itertools import cycle
from typing import Any

import mlx.core as mx
import numpy as np

from metalbench.reference.on_torch import finish, import_torch_for, torch_device
from metalbench.suites.pytorch.drawing import Part
from metalbench.suites.pytorch.module import Module, several

Values = np.ndarray[Any, Any]
ExtentsOf = Callable[[Mapping[str, Any]], Mapping[str, int]]


class OnPyTorch:
    """Runs a module; `load` gets inputs there, and calling it with a number runs it so often."""

    def __init__(
        self, name: str, module: Module, parts: Mapping[str, Part], extents_of: ExtentsOf
    ) -> None:
        self._name = name
        self._module = module
        self._parts = parts
        self._extents_of = extents_of
        self._kind = ""
        self._loaded: Any = None
        self._built: dict[tuple[int, ...], Any] = {}

    @property
    def name(self) -> str:
        """What reports call it: version and device of PyTorch."""
        torch = import_torch_for(self._name)
        return f"pytorch {torch.__version__.partition('+')[0]} ({self.device})"

    @property
    def device(self) -> str:
        """The GPU's where it has one, but beside the cpu device."""
        return torch_device(import_torch_for(self._name), self._kind)

    def beside(self, kind: str) -> None:
        """Run on the processor that suits a comparison with a device of this kind."""
        self._kind = kind

    def exact(self, arrays: Mapping[str, Values]) -> Any:
        """Return the outputs in float64, one array or several."""
        tensors, state = self._split(arrays)
        found = self._module.exact(self._extents_of(arrays), tensors, state)
        return found if len(found) > 1 else found[0]

    def to_mlx(self, arrays: Mapping[str, mx.array]) -> Any:
        """Run PyTorch on copies of MLX arrays and return MLX arrays."""
        outputs = self.outputs({name: np.array(each) for name, each in arrays.items()})
        found = tuple(map(mx.array, outputs))
        return found if len(found) > 1 else found[0]

    def outputs(self, arrays: Mapping[str, Values]) -> list[Values]:
        """In float32, on the device."""
        run = self._runner(arrays)
        found = [_array(each) for each in several(run())]
        return found

    def load(self, *works: Mapping[str, Values]) -> None:
        """Load inputs. Runs alternate between several of them."""
        self._loaded = cycle([self._runner(each) for each in works])

    def __call__(self, repetitions: int) -> None:
        """Run `repetitions` to completion."""
        for _ in range(repetitions):
            next(self._loaded)()
        finish(import_torch_for(self._name), self.device)

    def _runner(self, arrays: Mapping[str, Values]) -> Callable[[], Any]:
        torch = import_torch_for(self._name)
        values, device = self._extents_of(arrays), self.device
        key = tuple(values.values())
        if key not in self._built:
            self._built = {key: self._module.build(values)}
        model, arguments = self._built[key]
        tensors, state = self._split(arrays)
        left = iter(tensors)
        asked = [
            _tensor(torch, next(left), each, device) if isinstance(each, torch.Tensor) else each
            for each in arguments
        ]
        own = {**dict(model.named_parameters()), **dict(model.named_buffers())}
        held = {name: each.detach().clone().to(device) for name, each in own.items()}
        held |= {name: _tensor(torch, each, own[name], device) for name, each in state.items()}

        def run() -> Any:
            with torch.no_grad(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return torch.func.functional_call(model, held, tuple(asked))

        return run

    def _split(self, arrays: Mapping[str, Values]) -> tuple[list[Values], dict[str, Values]]:
        """Arguments in order, and what the module holds, by its own names."""
        tensors = [arrays[n] for n, part in self._parts.items() if part.kind == "argument"]
        state = {p.called: arrays[n] for n, p in self._parts.items() if p.kind != "argument"}
        return tensors, state


def _tensor(torch: Any, values: Values, other: Any, device: str) -> Any:
    return torch.from_numpy(np.array(values)).to(other.dtype).reshape(other.shape).to(device)


def _array(tensor: Any) -> Values:
    values = np.array(tensor.detach().cpu().numpy())
    kind = {"int64": np.int32, "float64": np.float32}.get(values.dtype.name)
    values = values.astype(kind) if kind is not None else values
    return values.reshape(1) if values.ndim == 0 else values
