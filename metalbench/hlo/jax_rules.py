"""Register JAX's lowering rules for the platform, with or without its plugin.

The rules have no public names. If a version of JAX has moved them, JAX itself reports the missing
rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, wraps
from importlib import import_module
from typing import Any

import numpy as np

from metalbench.errors import DispatchError

# Name of the platform.
NAME = "metalbench"
# Columns that a kernel factors at once. Larger matrices take a product for each such panel.
LU_PANEL = 128


@cache
def register_rules() -> None:
    """Register the rules that JAX has only for other platforms, once."""
    from jax._src import xla_bridge
    from jax._src.interpreters import mlir
    from jax._src.lax import linalg

    if not xla_bridge.is_known_platform(NAME):
        # Without the plugin: known by name only.
        xla_bridge._nonexperimental_plugins.add(NAME)
    with suppress(ImportError, AttributeError):
        eigh = import_module("jax._src.tpu.linalg.eigh")
        mlir.register_lowering(linalg.eigh_p, eigh._eigh_tpu_lowering, platform=NAME)
    with suppress(AttributeError):
        _register_lu()
    with suppress(ImportError, AttributeError):
        _register_callbacks()


def _register_lu() -> None:
    """Register the rule of LU: without it JAX factors matrices by a loop."""
    from jax._src.interpreters import mlir
    from jax._src.lax import linalg

    lower_panel = linalg._lu_tpu_lowering_rule
    lower_blocks = mlir.lower_fun(_factor_by_panels, multiple_results=True)

    def lower_lu(ctx: Any, operand: Any) -> Any:
        is_panel = min(ctx.avals_in[0].shape[-2:]) <= LU_PANEL
        return (lower_panel if is_panel else lower_blocks)(ctx, operand)

    mlir.register_lowering(linalg.lu_p, lower_lu, platform=NAME)


def _factor_by_panels(matrix: Any) -> Any:
    """Return the LU factors, the pivots and the permutation of matrices, panel by panel.

    Each panel of columns is factored; then one product updates the columns to its right.
    """
    import jax.numpy as jnp
    from jax import lax

    *batch, rows, columns = matrix.shape
    pivots = []
    permutation = jnp.broadcast_to(jnp.arange(rows, dtype=jnp.int32), (*batch, rows))
    for first in range(0, min(rows, columns), LU_PANEL):
        end = min(first + LU_PANEL, rows, columns)
        factors, pivot, order = lax.linalg.lu(matrix[..., first:, first:end])
        pivots.append(pivot + first)
        permutation = jnp.concatenate(
            [permutation[..., :first], jnp.take_along_axis(permutation[..., first:], order, -1)], -1
        )
        below = jnp.take_along_axis(matrix[..., first:, :], order[..., None], -2)
        below = below.at[..., first:end].set(factors)
        if end < columns:
            upper = lax.linalg.triangular_solve(
                factors[..., : end - first, :],
                below[..., : end - first, end:],
                left_side=True,
                lower=True,
                unit_diagonal=True,
            )
            below = below.at[..., : end - first, end:].set(upper)
            change = jnp.matmul(
                factors[..., end - first :, :], upper, precision=lax.Precision.HIGHEST
            )
            below = below.at[..., end - first :, end:].add(-change)
        matrix = matrix.at[..., first:, :].set(below)
    return matrix, jnp.concatenate(pivots, -1), permutation


def _register_callbacks() -> None:
    """Register rules for `jax.pure_callback`, `io_callback`, `jax.debug` and checkify.

    JAX lowers all of them with one function, which permits only the platforms of XLA. Here it is
    extended: for other platforms nothing changes.
    """
    from jax._src import callback, checkify, debugging
    from jax._src.interpreters import mlir

    for primitive, rule in (
        (debugging.debug_callback_p, debugging.debug_callback_lowering),
        (debugging.debug_print_p, debugging.debug_print_lowering_rule),
        (checkify.check_p, checkify.check_lowering_rule),
    ):
        mlir.register_lowering(primitive, rule, platform=NAME)
    original = callback.emit_python_callback

    @wraps(original)
    def emit_python_callback(ctx: Any, *arguments: Any, **named: Any) -> Any:
        if tuple(ctx.module_context.platforms) == (NAME,):
            return emit_callback(ctx, *arguments, **named)
        return original(ctx, *arguments, **named)

    callback.emit_python_callback = emit_python_callback


def emit_callback(  # noqa: PLR0917 - the parameters of JAX
    ctx: Any,
    callback: Callable[..., Sequence[Any]],
    token: Any,
    operands: Sequence[Any],
    operand_avals: Sequence[Any],
    result_avals: Sequence[Any],
    *,
    has_side_effect: bool,
    returns_token: bool = True,
    partitioned: bool = False,
    sharding: Any = None,
) -> tuple[Sequence[Any], Any, None]:
    """Emit a call of a Python function; return its results, and the new token if one is given.

    The parameters and the result are those of `jax._src.callback.emit_python_callback`. There is
    one device, so shardings have no meaning.
    """
    del operand_avals, returns_token, partitioned, sharding
    from jax._src import core, dtypes
    from jax._src.interpreters import mlir

    # JAX imports this module in each program that uses it.
    from metalbench.hlo.runtime.host_calls import TARGET, register_function

    tokens = [] if token is None else [token]

    def call(*arrays: Any) -> Sequence[Any]:
        found = [np.asarray(each) for each in callback(*arrays[len(tokens) :])]
        found = [dtypes.canonicalize_value(each) for each in found]
        _check_results(found, result_avals)
        # A token has no elements.
        return [np.zeros(0, np.bool_), *found]

    function = register_function(call)
    ctx.module_context.add_keepalive(function)
    new_token, *results = mlir.custom_call(
        TARGET,
        result_types=[
            mlir.aval_to_ir_type(ctx.module_context, each)
            for each in (core.abstract_token, *result_avals)
        ],
        operands=[*tokens, *operands],
        backend_config=function.identifier,
        has_side_effect=has_side_effect,
    ).results
    return results, new_token if tokens else None, None


def _check_results(found: Sequence[Any], expected: Sequence[Any]) -> None:
    """Raise DispatchError for arrays of another number, shape or type than the declared ones."""
    if len(found) != len(expected):
        raise DispatchError(f"callback: expected {len(expected)} results, got {len(found)}")
    for number, (got, want) in enumerate(zip(found, expected, strict=True)):
        if got.shape != want.shape or got.dtype != want.dtype:
            raise DispatchError(
                f"callback: result {number}: expected {want.dtype.name} {want.shape}, "
                f"got {got.dtype.name} {got.shape}"
            )
