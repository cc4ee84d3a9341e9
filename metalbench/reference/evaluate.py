"""Evaluate MLX arrays also where MLX's compiler on a CPU fails.

MLX compiles some of its functions, such as activations, with the system's `g++`, and supports it up
to version 12. Without g++, MLX evaluates them uncompiled. If g++ fails, this module does so.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import mlx.core as mx
import numpy as np

from metalbench.devices import find_kind
from metalbench.errors import TaskError
from metalbench.task.workload import Workload

Results = TypeVar("Results")

_FAILED = "[Compile::eval_cpu] Failed to compile"
# The first error that a compiler prints.
_ERROR = re.compile(r"\berror: .*")
# MLX's headers, prepared for g++ 12, fail with this error (ml-explore/mlx#2281).
_NEWER = "redeclaration of C++ built-in type"


class CompilerError(Exception):
    """MLX's compiler has failed."""


# The fault in this process; None if the compiler has not failed.
_fault: str | None = None


def compiler_fault() -> str | None:
    """Return the reason why MLX does not compile here; None if no compilation has failed."""
    return _fault


def evaluate(make: Callable[[], Results]) -> Results:
    """Evaluate the arrays that `make` returns; without compilation if it fails."""
    try:
        return evaluate_compiled(make)
    except CompilerError:
        mx.disable_compile()
        return _evaluate(make)


def evaluate_compiled(make: Callable[[], Results]) -> Results:
    """Evaluate the arrays that `make` returns; raise CompilerError if compilation fails."""
    try:
        return _evaluate(make)
    except RuntimeError as error:
        if not _is_failure(error):
            raise
        raise CompilerError(_fault) from error


def check_compiler() -> None:
    """Raise CompilerError if a compilation has failed in this process."""
    if _fault is not None:
        raise CompilerError(_fault)


def _evaluate(make: Callable[[], Results]) -> Results:
    results = make()
    mx.eval(results)
    return results


def _is_failure(error: RuntimeError) -> bool:
    """Return whether `error` is a failed compilation; record its message."""
    global _fault  # noqa: PLW0603 - MLX's compiler is one for the process, too
    said = str(error)
    if not said.startswith(_FAILED):
        return False
    found: Any = _ERROR.search(said)
    first = found[0] if found else said.splitlines()[-1]
    _fault = f"MLX cannot compile here, and is measured without: g++ says {first!r}"
    if _NEWER in said:
        _fault += "; MLX knows g++ up to version 12: install that, and let `g++` be it"
    return True


# Convert arrays between NumPy and MLX, bfloat16 included.


def to_mlx(array: np.ndarray[Any, Any]) -> mx.array:
    """Copy `array` to MLX's memory, with the same element type."""
    if array.dtype.name == "bfloat16":
        return mx.array(array.view(np.uint16)).view(mx.bfloat16)
    return mx.array(array)


def to_numpy(array: mx.array) -> np.ndarray[Any, Any]:
    """Copy `array` to NumPy's memory, with the same element type."""
    if array.dtype == mx.bfloat16:
        import ml_dtypes

        return np.array(array.view(mx.uint16)).view(ml_dtypes.bfloat16)
    return np.array(array)


# Compute the reference's outputs for verification.

TF32 = "MLX_ENABLE_TF32"


def outputs(workload: Workload, *, kind: str = "cpu") -> dict[str, np.ndarray[Any, Any]]:
    """Return the reference's outputs in float32, from the run's inputs widened to float32.

    For GPU devices, MLX's GPU computes them if MLX has one that has all operations. They also judge
    half precision: the error rule allows for its rounding, and errors of a reference in half
    precision must not excuse the candidate. Raises TaskError if the reference's shapes are not the
    declared ones.
    """
    task = workload.task
    arguments = {
        name: to_mlx(each) if isinstance(each, np.ndarray) else each
        for name, each in workload.widen_inputs(np.float32).items()
    }
    compute = partial(task.reference, **arguments)
    try:
        try:
            results = _evaluate_on(select_stream(kind), compute)
        except RuntimeError as error:
            if not lacks_operation(error):
                raise
            results = _evaluate_on(mx.cpu, compute)
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


# Parts of the messages of MLX's GPU backends about operations that they do not have.
_LACKING = (
    *("has no CUDA implementation", "has no Metal implementation", "No implementation for"),
    *("not yet support", "not supported on the GPU", "not implemented", " NYI"),
)


def lacks_operation(error: RuntimeError) -> bool:
    """Return whether MLX says that its GPU backend does not have an operation."""
    return any(each in str(error) for each in _LACKING)


def _evaluate_on(stream: Any, compute: Callable[[], Any]) -> Any:
    with mx.stream(stream):
        return evaluate(compute)


def select_stream(kind: str) -> Any:
    """Return the MLX device for a device of that kind: the same GPU if MLX has it, else its CPU.

    For "cuda", products of float32 are not rounded to TF32, unless MLX_ENABLE_TF32 is set.
    """
    if find_kind(kind).runs_mlx_on_cuda:
        # MLX reads the variable with its first product on the GPU.
        os.environ.setdefault(TF32, "0")
    # MLX is built with at most one of these backends.
    backend = {"metal": mx.metal, "cuda": getattr(mx, "cuda", None)}.get(kind)
    return mx.gpu if backend is not None and backend.is_available() else mx.cpu
