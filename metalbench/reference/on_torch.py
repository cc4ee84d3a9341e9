"""PyTorch's form of a task, beside those of MLX."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import cycle
from typing import Any

import numpy as np

from metalbench.errors import DeclarationError
from metalbench.task import Task

Values = np.ndarray[Any, Any]


def torch_of(what: str) -> Any:
    """PyTorch; DeclarationError where it is not installed."""
    try:
        import torch
    except ImportError as error:
        raise DeclarationError(
            f"[{what}] PyTorch is needed, and is not installed: `pip install "
            "'metalbench[kernelbench]'`"
        ) from error
    return torch


def torch_device(torch: Any, kind: str) -> str:
    """PyTorch's device that is timed beside ours of `kind`; its GPU where no kind is said."""
    if kind in ("", "metal") and torch.backends.mps.is_available():
        return "mps"
    return "cuda" if kind in ("", "cuda") and torch.cuda.is_available() else "cpu"


def finish(torch: Any, device: str) -> None:
    """Wait until `device` has done what it was asked for."""
    if device == "mps":
        torch.mps.synchronize()
    elif device == "cuda":
        torch.cuda.synchronize()


def with_torch(task: Task) -> Task:
    """`task` with PyTorch's form as one more to be timed against; itself where it has none.

    Raises DeclarationError where PyTorch is not installed.
    """
    if task.torch is None or task.apart is not None:
        return task
    torch_of(task.name)
    return replace(task, apart=OnTorch(task), against=(*task.against, "apart"))


class OnTorch:
    """Runs a task's `torch`; `load` gets inputs there, calling it with a number runs it so often.

    Products of float32 are of float32, as MLX's are: PyTorch leaves TF32 off unless it is asked.
    """

    def __init__(self, task: Task) -> None:
        self._task = task
        self._torch = torch_of(task.name)
        self._device = torch_device(self._torch, "")
        self._loaded: Any = None

    @property
    def name(self) -> str:
        """What reports call it: version and device of PyTorch."""
        return f"torch {self._torch.__version__.partition('+')[0]} ({self._device})"

    def beside(self, kind: str) -> None:
        """Run from here on beside a device of that kind."""
        self._device = torch_device(self._torch, kind)

    def load(self, *works: Mapping[str, Values]) -> None:
        """Take inputs, by turns where there are several."""
        self._loaded = cycle([self._runner(each) for each in works])

    def outputs(self, arrays: Mapping[str, Values]) -> list[Values]:
        """In the types that the task declares; those of the run are those of its inputs."""
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
    # Indices are of a type that PyTorch takes as such.
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
