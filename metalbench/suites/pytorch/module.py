"""A module at its sizes: inputs, parameters, what it costs, and what it computes in float64."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from metalbench.errors import DeclarationError
from metalbench.reference.on_torch import import_torch_for
from metalbench.suites.pytorch.source import Source

Values = np.ndarray[Any, Any]
Sizes = Mapping[str, Mapping[str, int]]
# PyTorch's device without memory.
META = "meta"


@dataclass
class Drawn:
    """The numbers of a file at one size, by the module's names: NumPy arrays and constants."""

    arguments: list[Any]
    parameters: dict[str, Values]
    buffers: dict[str, Values]


@dataclass
class Module:
    """The `Model` of a file, with a cache for the last size."""

    source: Source
    _drawn: dict[tuple[Any, ...], Drawn] = field(default_factory=dict)
    _exact: dict[tuple[Any, ...], Any] = field(default_factory=dict)

    @classmethod
    def of(cls, path: Path) -> Module:
        """Return the file at `path`; nothing is executed yet."""
        return cls(Source(path))

    def build(self, values: Mapping[str, int], device: str = "cpu", double: bool = False) -> Any:
        """(module, arguments) with `values`, on "meta" without any memory; seed 0.

        A constructor that asks for values has memory meanwhile.
        """
        try:
            return self._built(values, device, double)
        except DeclarationError as error:
            if device != META or "meta tensors" not in str(error):
                raise
        torch = import_torch_for("import-torch")
        model, arguments = self._built(values, "cpu", double)
        moved = [each.to(META) if isinstance(each, torch.Tensor) else each for each in arguments]
        return model.to(META), moved

    def _built(self, values: Mapping[str, int], device: str, double: bool) -> Any:
        torch = import_torch_for("import-torch")
        source, before = self.source, torch.get_default_dtype()
        torch.set_default_dtype(torch.float64 if double else torch.float32)
        try:
            with warnings.catch_warnings(), torch.device(device):
                warnings.simplefilter("ignore")
                torch.manual_seed(0)
                file = source.module_at(values)
                initial = source.call_user_code("get_init_inputs", file.get_init_inputs)
                model = source.call_user_code("Model", lambda: _make_model(file.Model, initial))
                if not isinstance(model, torch.nn.Module):
                    raise source.fault(f"Model: expected a torch.nn.Module, got {type(model)}")
                arguments = source.call_user_code("get_inputs", file.get_inputs)
        finally:
            torch.set_default_dtype(before)
        if not isinstance(arguments, (list, tuple)) or not arguments:
            raise source.fault(f"get_inputs: expected a list of tensors, got {type(arguments)}")
        if not any(isinstance(each, torch.Tensor) for each in arguments):
            raise source.fault("get_inputs: expected at least one tensor, got none")
        return model, list(arguments)

    def drawn(self, values: Mapping[str, int], seed: int = 0) -> Drawn:
        """Arguments and parameters as the file draws them."""
        torch = import_torch_for("import-torch")
        key = (*values.values(), seed)
        if key not in self._drawn:
            model, arguments = self.build(values)
            if seed:
                torch.manual_seed(seed)
                file = self.source.module_at(values)
                arguments = self.source.call_user_code("get_inputs", file.get_inputs)
            self._drawn.clear()
            self._drawn[key] = Drawn(
                [_array(each) if isinstance(each, torch.Tensor) else each for each in arguments],
                {name: _array(each) for name, each in model.named_parameters()},
                {name: _array(each) for name, each in model.named_buffers()},
            )
        return self._drawn[key]

    def exact(
        self,
        values: Mapping[str, int],
        inputs: Sequence[Values],
        state: Mapping[str, Values],
        *,
        seed: int = 0,
    ) -> tuple[Values, ...]:
        """Return the outputs in float64 of tensors and learned parameters that are given.

        `seed` is of what the module draws, which no task may depend on.
        """
        torch = import_torch_for("import-torch")
        key = tuple(values.values())
        if key not in self._exact:
            model, arguments = self.build(values, double=True)
            self._exact.clear()
            self._exact[key] = model.double(), arguments
        model, arguments = self._exact[key]
        tensors = iter(inputs)
        with torch.no_grad():
            asked = [
                _like(torch, next(tensors), each) if isinstance(each, torch.Tensor) else each
                for each in arguments
            ]
            own = {**dict(model.named_parameters()), **dict(model.named_buffers())}
            held = {name: each.clone() for name, each in own.items()}
            held |= {name: _like(torch, each, own[name]) for name, each in state.items()}
            torch.manual_seed(seed)
            got = self.source.call_user_code(
                "forward", lambda: torch.func.functional_call(model, held, tuple(asked))
            )
        return tuple(_array(each, wide=True) for each in several(got))


def several(result: Any) -> tuple[Any, ...]:
    """Return the tensors of a result, those of tuples and lists within it one after the other."""
    if isinstance(result, (tuple, list)):
        return tuple(one for each in result for one in several(each))
    return (result,)


def _make_model(model: Any, initial: Any) -> Any:
    if isinstance(initial, dict):
        return model(**initial)
    if len(initial) == 2 and isinstance(initial[0], list) and isinstance(initial[1], dict):
        return model(*initial[0], **initial[1])
    return model(*initial)


def _array(tensor: Any, wide: bool = False) -> Values:
    """Return a copy; int64 as int32, float64 as float32 unless `wide`, scalars as one element."""
    values = np.array(tensor.detach().cpu().numpy())
    if values.dtype == np.int64:
        values = values.astype(np.int32)
    elif values.dtype.kind == "f" and not wide:
        values = values.astype(np.float32)
    return values.reshape(1) if values.ndim == 0 else values


def _like(torch: Any, values: Values, other: Any) -> Any:
    """A tensor of `values` with the shape of `other`, in its type of whole numbers or float64."""
    floating = other.dtype.is_floating_point
    kind = torch.float64 if floating else other.dtype
    return torch.from_numpy(np.array(values)).to(kind).reshape(other.shape)
