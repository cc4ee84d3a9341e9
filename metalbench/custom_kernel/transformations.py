"""`mx.compile` and `mx.vmap` around kernels that need the values of their inputs.

Both trace a function with arrays that have no values. A compiled function runs as it is instead:
MLX has a switch for it that functions compiled long before obey, too. `mx.vmap` asks every
operation how it is mapped once the values are there, and a kernel's answer is in mapping.py; until
then its outputs are placeholders. Only while `mx.vmap` is known to be at work may a kernel give
some: to `mx.compile` and `mx.export_function` they would be constants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from threading import local
from typing import Any

import mlx.core as mx

from metalbench.custom_kernel.replacement import replace_attributes


class _Depth(local):
    """The nesting depth of `mx.vmap` calls in this thread."""

    value = 0


_depth = _Depth()
_enable, _disable, _vmap = mx.enable_compile, mx.disable_compile, mx.vmap
# What code asked for by `mx.enable_compile` and `mx.disable_compile`; None where MLX has the say.
_compiles: bool | None = None


def in_vmap() -> bool:
    """Return whether an array without a value is one that `mx.vmap` gives the value of later."""
    return _depth.value > 0


@contextmanager
def outside_of_vmap() -> Iterator[None]:
    """While it maps an operation, the innermost `mx.vmap` has its values; others may not."""
    with _deeper(-1):
        yield


@contextmanager
def transformations() -> Iterator[None]:
    """Let functions with kernels be compiled and mapped."""
    global _compiles  # noqa: PLW0603 - it is MLX's switch, of which there is one
    _compiles = _is_compiling()
    switches = {"enable_compile": _enable_later, "disable_compile": _disable_later}
    with replace_attributes(mx, vmap=_counting_vmap, **switches):
        _disable()
        try:
            yield
        finally:
            if _compiles:
                _enable()
            _compiles = None


@contextmanager
def compiling() -> Iterator[None]:
    """`mx.compile` as MLX has it, also within `transformations`: for what is measured."""
    if not _compiles:
        yield
        return
    _enable()
    try:
        yield
    finally:
        _disable()


def _is_compiling() -> bool:
    """MLX tells only by what it does: it hands arrays without values to what it compiles."""
    found = []

    def look(x: mx.array) -> mx.array:
        try:
            x.item()
        except (RuntimeError, ValueError):
            found.append(True)
        return x

    mx.compile(look)(mx.array(0))
    return bool(found)


@wraps(_enable)
def _enable_later() -> None:
    global _compiles  # noqa: PLW0603
    _compiles = True


@wraps(_disable)
def _disable_later() -> None:
    global _compiles  # noqa: PLW0603
    _compiles = False


@wraps(_vmap)
def _counting_vmap(function: Callable[..., Any], *args: Any, **options: Any) -> Callable[..., Any]:
    mapped = _vmap(function, *args, **options)

    @wraps(function)
    def counted(*args: Any, **options: Any) -> Any:
        with _deeper(1):
            return mapped(*args, **options)

    return counted


@contextmanager
def _deeper(by: int) -> Iterator[None]:
    _depth.value += by
    try:
        yield
    finally:
        _depth.value -= by
