"""Run PyTorch's form of a task, in addition to the forms of MLX."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import cycle
from typing import Any

import numpy as np

from metalbench.errors import DeclarationError
from metalbench.task import Task

Values = np.ndarray[Any, Any]


def import_torch_for(what: str) -> Any:
    """Import PyTorch; raise DeclarationError with the name `what` if it is not installed."""
    try:
        import torch
    except ImportError as error:
        raise DeclarationError(
            f"[{what}] PyTorch is needed, and is not installed: `pip install "
            "'metalbench[kernelbench]'`"
        ) from error
    return torch


def torch_device(torch: Any, kind: str) -> str:
    """Return PyTorch's device for our device of `kind`; its GPU for an empty kind."""
    if kind in ("", "metal") and torch.backends.mps.is_available():
        return "mps"
    return "cuda" if kind in ("", "cuda") and torch.cuda.is_available() else "cpu"


def finish(torch: Any, device: str) -> None:
    """Wait until `device` has finished all work."""
    if device == "mps":
        torch.mps.synchronize()
    elif device == "cuda":
        torch.cuda.synchronize()


def add_torch_form(task: Task) -> Task:
    """Return `task` with PyTorch's form in addition; `task` itself if it has none.

    Raises DeclarationError if PyTorch is not installed.
    """
    if task.torch is None or task.apart is not None:
        return task
    import_torch_for(task.name)
    return replace(task, apart=OnTorch(task), against=(*task.against, "apart"))


class OnTorch:
    """Runs a task's `torch`. `load` copies inputs; a call with a number runs that many repetitions.

    Products of float32 are not rounded to TF32: it is off in PyTorch by default, and in MLX.
    """

    def __init__(self, task: Task) -> None:
        self._task = task
        self._torch = import_torch_for(task.name)
        self._device = torch_device(self._torch, "")
        self._loaded: Any = None

    @property
    def name(self) -> str:
        """The name for reports: version and device of PyTorch."""
        return f"torch {self._torch.__version__.partition('+')[0]} ({self._device})"

    def beside(self, kind: str) -> None:
        """Use PyTorch's device for our devices of `kind`."""
        self._device = torch_device(self._torch, kind)

    def load(self, *works: Mapping[str, Values]) -> None:
        """Load inputs; calls alternate if there are several."""
        self._loaded = cycle([self._runner(each) for each in works])

    def outputs(self, arrays: Mapping[str, Values]) -> list[Values]:
        """Return the outputs, in the types that the task declares."""
        return [
            _array(self._torch, each, None if array.dtype is None else array.dtype.numpy)
            for each, array in zip(
                _several(self._runner(arrays)()), self._task.outputs.values(), strict=True
            )
        ]

    def __call__(self, repetitions: int) -> None:
        """Run `repetitions` to completion."""
        with self._torch.inference_mode():
            for _ in range(repetitions):
                next(self._loaded)()
            finish(self._torch, self._device)

    def _runner(self, arrays: Mapping[str, Values]) -> Callable[[], Any]:
        torch, form = self._torch, self._task.torch
        assert form is not None
        tensors = [_tensor(torch, arrays[name], self._device) for name in self._task.inputs]
        constants = list(self._task.constants.values())
        return lambda: form(torch, *tensors, *constants)


def _several(found: Any) -> Sequence[Any]:
    return found if isinstance(found, (tuple, list)) else (found,)


def _tensor(torch: Any, values: Values, device: str) -> Any:
    if values.dtype.name == "bfloat16":
        return torch.from_numpy(np.array(values.view(np.int16))).view(torch.bfloat16).to(device)
    # PyTorch takes indices of int64 only.
    wide = values.astype(np.int64) if values.dtype.kind in "iu" else np.array(values)
    return torch.from_numpy(wide).to(device)


def _array(torch: Any, tensor: Any, declared: Any) -> Values:
    tensor = tensor.detach().cpu().contiguous()
    if tensor.dtype is torch.bfloat16:
        import ml_dtypes

        values = tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    else:
        values = tensor.numpy()
    return np.array(values if declared is None else values.astype(declared))
