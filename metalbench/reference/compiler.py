"""Evaluate MLX arrays also where MLX's compiler on a CPU fails.

MLX compiles some of its functions, such as activations, with the system's `g++`, and supports it up
to version 12. Without g++, MLX evaluates them uncompiled. If g++ fails, this module does so.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import mlx.core as mx

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


def fault() -> str | None:
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


def check() -> None:
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
