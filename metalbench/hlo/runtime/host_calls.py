"""Python functions that programs call on the host, such as the callbacks of JAX.

A program names its function by an identifier, which is valid only in the process that registered
it. Identifiers are random, so that a program of another process never finds a wrong function.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakValueDictionary

from metalbench.errors import Unsupported
from metalbench.hlo.ir import Operation

# The custom call of such a function; its `backend_config` is the identifier.
TARGET = "metalbench_host_call"


class HostFunction:
    """A function of NumPy arrays that returns a sequence of arrays."""

    def __init__(self, function: Callable[..., Sequence[Any]]) -> None:
        self.function = function
        self.identifier = uuid.uuid4().hex


_FUNCTIONS: WeakValueDictionary[str, HostFunction] = WeakValueDictionary()


def register_function(function: Callable[..., Sequence[Any]]) -> HostFunction:
    """Register a function; programs find it as long as the result is alive."""
    found = HostFunction(function)
    _FUNCTIONS[found.identifier] = found
    return found


def find_function(operation: Operation) -> HostFunction:
    """Return the function of an operation. Raise Unsupported if this process has not registered it.

    A plan keeps its functions alive.
    """
    found = _FUNCTIONS.get(str(operation.attributes.get("backend_config")))
    if found is None:
        raise Unsupported(
            f"{operation.where}: @{TARGET} calls a Python function of the process that traced the "
            "program, got a program of another process; trace it in this process, with "
            "metalbench.hlo.compile(function) or jax.jit"
        )
    return found
