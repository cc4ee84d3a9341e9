"""What MLX makes of a workload."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

import mlx.core as mx
import numpy as np

from metalbench.errors import TaskError
from metalbench.reference.compiler import evaluated
from metalbench.reference.convert import to_mlx, to_numpy
from metalbench.task.workload import Workload

TF32 = "MLX_ENABLE_TF32"


def outputs(workload: Workload, *, kind: str = "cpu") -> dict[str, np.ndarray[Any, Any]]:
    """The reference's outputs in float32, from the run's own inputs widened to it.

    Beside a GPU they are those of MLX's GPU, where it has one.

    Half precision is judged against it too: its rounding is allowed for by the error rule, and
    what the reference would lose by computing in half precision must not excuse the candidate.
    Raises TaskError if the reference's shapes are not the declared ones.
    """
    task = workload.task
    arguments = {
        name: to_mlx(each) if isinstance(each, np.ndarray) else each
        for name, each in workload.widen_inputs(np.float32).items()
    }
    try:
        with mx.stream(stream_of(kind)):
            results = evaluated(partial(task.reference, **arguments))
            several = results if isinstance(results, (tuple, list)) else (results,)
    except Exception as error:  # the user's code: whatever it raises is its fault
        cause = f"{type(error).__name__}: {error}"
        raise TaskError(f"[{task.name}] reference at size {workload.size}: {cause}") from error
    named = dict(zip(task.outputs, (to_numpy(each) for each in several), strict=True))
    for name, shape in workload.output_shapes.items():
        if named[name].shape != shape:
            raise TaskError(
                f"[{task.name}] reference: {name} at size {workload.size}: "
                f"expected {shape}, got {named[name].shape}"
            )
    return named


def stream_of(kind: str) -> Any:
    """The MLX device that belongs to ours: its GPU beside a GPU, if it has that one, else its CPU.

    Beside "cuda" its products in float32 are of float32, unless MLX_ENABLE_TF32 says otherwise.
    """
    if kind == "cuda":
        # MLX reads it with its first product there.
        os.environ.setdefault(TF32, "0")
    # MLX has either of them, or none.
    backend = {"metal": mx.metal, "cuda": getattr(mx, "cuda", None)}.get(kind)
    return mx.gpu if backend is not None and backend.is_available() else mx.cpu
