"""Make kernels opaque to MLX's transformations: vmap maps them, gradients are errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from metalbench.custom_kernel.arrays import NoValue
from metalbench.errors import Unsupported

Run = Callable[[list[Any]], list[Any]]


def opaque(name: str, run: Run, blank: Callable[[], list[Any]], inputs: Sequence[Any]) -> list[Any]:
    """`run(inputs)`, in a way that `mx.vmap` can map and whose gradient raises Unsupported.

    Without it the outputs would be constants to MLX, and the gradient silently zero. `blank` gives
    arrays like the outputs.
    """
    import mlx.core as mx

    from metalbench.custom_kernel.transformations import in_vmap, outside_of_vmap

    def traced(given: list[Any]) -> list[Any]:
        try:
            return run(given)
        except NoValue:
            if in_vmap():
                return blank()
            raise

    def mapped(given: Sequence[Any], axes: Sequence[int | None]) -> tuple[list[Any], list[int]]:
        with outside_of_vmap():
            rows = [opaque(name, run, blank, each) for each in _slices(given, axes)]
        if rows:
            outputs = [mx.stack(list(each)) for each in zip(*rows, strict=True)]
        else:
            outputs = [mx.zeros((0, *each.shape), each.dtype) for each in blank()]
        return outputs, [0] * len(outputs)

    def refuse(*_: Any) -> Any:
        raise Unsupported(
            f"[{name}] a kernel has no gradient; put it into an @mx.custom_function "
            "that defines vjp (or jvp)"
        )

    function: Any = mx.custom_function(traced)
    function.vjp(refuse)
    function.jvp(refuse)
    function.vmap(mapped)
    # One list: of a single array MLX would tell the array and its axis, not lists of one.
    return list(function(list(inputs)))


def _slices(given: Sequence[Any], axes: Sequence[int | None]) -> list[list[Any]]:
    """The inputs of each call, where `axes` are mapped; an input that is not is in all of them."""
    import mlx.core as mx

    pairs = list(zip(given, axes, strict=True))
    count = next(each.shape[axis] for each, axis in pairs if axis is not None)
    return [
        [each if axis is None else mx.take(each, index, axis=axis) for each, axis in pairs]
        for index in range(count)
    ]
