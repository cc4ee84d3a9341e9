"""What MLX's transformations find where a kernel ran outside of MLX's graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from metalbench.errors import Unsupported


def opaque(name: str, run: Callable[[list[Any]], list[Any]], inputs: Sequence[Any]) -> list[Any]:
    """`run(inputs)`, in a way that asking for its gradient raises Unsupported.

    Without it the outputs would be constants to MLX, and the gradient silently zero.
    """
    import mlx.core as mx

    def refuse(*_: Any) -> Any:
        raise Unsupported(
            f"[{name}] a kernel has no gradient of its own; put it into an @mx.custom_function "
            "that defines vjp (or jvp)"
        )

    function: Any = mx.custom_function(lambda *given: run(list(given)))
    function.vjp(refuse)
    function.jvp(refuse)
    return list(function(*inputs))
