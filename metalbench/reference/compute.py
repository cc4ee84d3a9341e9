"""Compute the reference's outputs for verification."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

import mlx.core as mx
import numpy as np

from metalbench.errors import TaskError
from metalbench.reference.compiler import evaluate
from metalbench.reference.convert import to_mlx, to_numpy
from metalbench.task.workload import Workload

TF32 = "MLX_ENABLE_TF32"


def outputs(workload: Workload, *, kind: str = "cpu") -> dict[str, np.ndarray[Any, Any]]:
    """Return the reference's outputs in float32, from the run's inputs widened to float32.

    For GPU devices, MLX's GPU computes them if MLX has one. They also judge half precision: the
    error rule allows for its rounding, and errors of a reference in half precision must not excuse
    the candidate. Raises TaskError if the reference's shapes are not the declared ones.
    """
    task = workload.task
    arguments = {
        name: to_mlx(each) if isinstance(each, np.ndarray) else each
        for name, each in workload.widen_inputs(np.float32).items()
    }
    try:
        with mx.stream(select_stream(kind)):
            results = evaluate(partial(task.reference, **arguments))
            several = results if isinstance(results, (tuple, list)) else (results,)
    except Exception as error:  # the user's code may raise anything
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


def select_stream(kind: str) -> Any:
    """Return the MLX device for a device of that kind: the same GPU if MLX has it, else its CPU.

    For "cuda", products of float32 are not rounded to TF32, unless MLX_ENABLE_TF32 is set.
    """
    if kind == "cuda":
        # MLX reads the variable with its first product on the GPU.
        os.environ.setdefault(TF32, "0")
    # MLX is built with at most one of these backends.
    backend = {"metal": mx.metal, "cuda": getattr(mx, "cuda", None)}.get(kind)
    return mx.gpu if backend is not None and backend.is_available() else mx.cpu
