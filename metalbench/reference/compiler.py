"""MLX's compiler on a CPU, which need not work: it is whatever `g++` is, and MLX knows it up to 12.

Functions of MLX's own are compiled, such as its activations. Where there is no g++, MLX computes
them as they are written; where it fails, this does so, and says it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import mlx.core as mx

Results = TypeVar("Results")

_FAILED = "[Compile::eval_cpu] Failed to compile"
# As compilers print the first of them.
_ERROR = re.compile(r"\berror: .*")
# By which MLX's headers, put together for g++ 12, are known to fail (ml-explore/mlx#2281).
_NEWER = "redeclaration of C++ built-in type"


class CompilerError(Exception):
    """What was to be compiled cannot be."""


# Of this process; None as long as nothing has failed.
_fault: str | None = None


def fault() -> str | None:
    """Why MLX does not compile here, once that is known."""
    return _fault


def evaluated(make: Callable[[], Results]) -> Results:
    """What `make` returns of MLX's arrays, computed; not compiled, if that is what fails."""
    try:
        return evaluated_as_compiled(make)
    except CompilerError:
        mx.disable_compile()
        return _evaluated(make)


def evaluated_as_compiled(make: Callable[[], Results]) -> Results:
    """The same of what is to be compiled or nothing; raises CompilerError."""
    try:
        return _evaluated(make)
    except RuntimeError as error:
        if not _is_failure(error):
            raise
        raise CompilerError(_fault) from error


def check() -> None:
    """Raise CompilerError if it has failed."""
    if _fault is not None:
        raise CompilerError(_fault)


def _evaluated(make: Callable[[], Results]) -> Results:
    results = make()
    mx.eval(results)
    return results


def _is_failure(error: RuntimeError) -> bool:
    """Whether that is what `error` says; notes it."""
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
