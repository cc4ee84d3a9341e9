"""Decompose composite operations as the StableHLO specification defines them."""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any

from metalbench.errors import DeclarationError, Unsupported
from metalbench.hlo.importer.graph import format_location
from metalbench.hlo.importer.limits import (
    check_brackets,
    check_calls,
    check_regions,
    iterate_operations,
)
from metalbench.hlo.jaxlib_version import check_jaxlib

_ADD = "applies stablehlo.add across dimensions = [{axes}] : ({wide}, tensor<{sum}>) -> {few}"
# Sums are accumulated in float, or in double for doubles.
_TRAINING = """
func.func @batch_norm(%given: {all}, %scale: {feature}, %offset: {feature})
    -> ({all}, {feature}, {feature}) {{
  %zero = stablehlo.constant dense<0.0> : tensor<{sum}>
  %count = stablehlo.constant dense<{count}.0> : {few}
  %x = stablehlo.convert %given : ({all}) -> {wide}
  %sum = stablehlo.reduce(%x init: %zero) {add}
  %mean = stablehlo.divide %sum, %count : {few}
  %means = stablehlo.broadcast_in_dim %mean, dims = [{axis}] : ({few}) -> {wide}
  %centred = stablehlo.subtract %x, %means : {wide}
  %squares = stablehlo.multiply %centred, %centred : {wide}
  %squared = stablehlo.reduce(%squares init: %zero) {add}
  %variance = stablehlo.divide %squared, %count : {few}
  %m = stablehlo.convert %mean : ({few}) -> {feature}
  %v = stablehlo.convert %variance : ({few}) -> {feature}
  %y = "stablehlo.batch_norm_inference"(%given, %scale, %offset, %m, %v)
    {{epsilon = {epsilon} : f32, feature_index = {axis} : i64}}
    : ({all}, {feature}, {feature}, {feature}, {feature}) -> {all}
  return %y, %m, %v : {all}, {feature}, {feature}
}}"""
_GRAD = """
func.func @batch_norm(%given: {all}, %scale: {feature}, %mean: {feature}, %variance: {feature},
                      %output: {all}) -> ({all}, {feature}, {feature}) {{
  %zero = stablehlo.constant dense<0.0> : tensor<{sum}>
  %count = stablehlo.constant dense<{count}.0> : {few}
  %counts = stablehlo.constant dense<{count}.0> : {wide}
  %epsilon = stablehlo.constant dense<{epsilon}> : {few}
  %x = stablehlo.convert %given : ({all}) -> {wide}
  %g = stablehlo.convert %output : ({all}) -> {wide}
  %s = stablehlo.convert %scale : ({feature}) -> {few}
  %m = stablehlo.convert %mean : ({feature}) -> {few}
  %v = stablehlo.convert %variance : ({feature}) -> {few}
  %means = stablehlo.broadcast_in_dim %m, dims = [{axis}] : ({few}) -> {wide}
  %centred = stablehlo.subtract %x, %means : {wide}
  %spread = stablehlo.add %v, %epsilon : {few}
  %deviation = stablehlo.sqrt %spread : {few}
  %product = stablehlo.multiply %g, %centred : {wide}
  %of_output = stablehlo.reduce(%g init: %zero) {add}
  %of_product = stablehlo.reduce(%product init: %zero) {add}
  %i1 = stablehlo.multiply %g, %counts : {wide}
  %i2 = stablehlo.broadcast_in_dim %of_output, dims = [{axis}] : ({few}) -> {wide}
  %ratio = stablehlo.divide %of_product, %spread : {few}
  %ratios = stablehlo.broadcast_in_dim %ratio, dims = [{axis}] : ({few}) -> {wide}
  %i5 = stablehlo.multiply %ratios, %centred : {wide}
  %rest = stablehlo.subtract %i1, %i2 : {wide}
  %i6 = stablehlo.subtract %rest, %i5 : {wide}
  %slope = stablehlo.divide %s, %deviation : {few}
  %part = stablehlo.divide %slope, %count : {few}
  %parts = stablehlo.broadcast_in_dim %part, dims = [{axis}] : ({few}) -> {wide}
  %of_operand = stablehlo.multiply %parts, %i6 : {wide}
  %of_scale = stablehlo.divide %of_product, %deviation : {few}
  %a = stablehlo.convert %of_operand : ({wide}) -> {all}
  %b = stablehlo.convert %of_scale : ({few}) -> {feature}
  %c = stablehlo.convert %of_output : ({few}) -> {feature}
  return %a, %b, %c : {all}, {feature}, {feature}
}}"""
DECOMPOSITIONS = {"batch_norm_grad": _GRAD, "batch_norm_training": _TRAINING}


def decompose(operation: Any, where: str) -> str | None:
    """Return the MLIR function that is equivalent to an operation, or None if it is not composite.

    Raise Unsupported, beginning with `where`, if the shape is dynamic.
    """
    from jaxlib.mlir import ir

    name = operation.name.removeprefix("stablehlo.")
    if name not in DECOMPOSITIONS:
        return None
    operand = ir.RankedTensorType(operation.operands[0].type)
    axis = ir.IntegerAttr(operation.attributes["feature_index"]).value
    if not operand.has_static_shape:
        raise Unsupported(f"{where}: expected a static shape, got {operand}")
    shape, axes = list(operand.shape), [each for each in range(operand.rank) if each != axis]
    sum_type = "f64" if str(operand.element_type) == "f64" else "f32"
    names = {
        "all": operand,
        "sum": sum_type,
        "feature": f"tensor<{shape[axis]}x{operand.element_type}>",
        "wide": f"tensor<{''.join(f'{each}x' for each in shape)}{sum_type}>",
        "few": f"tensor<{shape[axis]}x{sum_type}>",
        "axis": axis,
        "axes": ", ".join(map(str, axes)),
        "count": prod(shape[each] for each in axes),
        "epsilon": f"{ir.FloatAttr(operation.attributes['epsilon']).value:.9e}",
    }
    return DECOMPOSITIONS[name].format(add=_ADD.format(**names), **names)


# Parse and legalise MLIR modules with jaxlib: one function, only StableHLO, no calls.

# Each pass needs the result of the previous one.
_PASSES_WITH_CALLS = (
    "stablehlo-legalize-deprecated-ops{fail-on-unused=false}",
    "chlo-legalize-to-stablehlo",
    "stablehlo-legalize-composite-to-call",
)
# After inlining, constant shapes make dynamic operations static.
_PASSES_AFTER_INLINING = (
    "canonicalize,cse,func.func(stablehlo-canonicalize-dynamism),canonicalize,cse"
)
_SHARDING = "sdy.sharding"
# The magic bytes of a portable artifact.
_ARTIFACT = b"ML\xefR"


@cache
def get_context() -> Any:
    """Return the MLIR context of this process.

    Raise Unsupported if jaxlib is missing or has an unsupported version.
    """
    check_jaxlib()
    try:
        from jaxlib.mlir import ir
        from jaxlib.mlir._mlir_libs import _jax_mlir_ext
        from jaxlib.mlir.dialects import chlo, sdy, stablehlo
    except ImportError as error:
        raise Unsupported(
            f"StableHLO is read by jaxlib: {error}; install it: pip install 'metalbench[hlo]'"
        ) from error
    stablehlo.register_stablehlo_passes()
    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    context = ir.Context()
    context.append_dialect_registry(registry)
    context.load_all_available_dialects()
    for dialect in (stablehlo, chlo, sdy):
        dialect.register_dialect(context)
    return context


def parse(source: Any, filename: str = "<program>") -> Any:
    """Return the module of text, bytecode, a portable artifact, or the copy of a module.

    Raise DeclarationError with the message of MLIR.
    """
    context = get_context()
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo

    with context, ir.Location.unknown():
        try:
            if isinstance(source, bytes) and source.startswith(_ARTIFACT):
                return stablehlo.deserialize_portable_artifact(context, source)
            if not isinstance(source, (str, bytes)):
                source = source.operation.get_asm(
                    print_generic_op_form=True, enable_debug_info=True
                )
            check_brackets(source, filename)
            return ir.Module.parse(source)
        except (ir.MLIRError, ValueError) as error:
            raise DeclarationError(f"{filename}: not a StableHLO program: {error}") from None


def legalize(module: Any, entry: str = "main", filename: str = "<program>") -> Any:
    """Legalise, inline and canonicalise a module in place; return its only function.

    Raise Unsupported if a pass of StableHLO fails, if functions are recursive, or if regions or
    calls are nested too deeply. Raise DeclarationError if `entry` is missing.
    """
    from jaxlib.mlir import ir

    with module.context, ir.Location.unknown():
        check_regions(module.operation)
        _drop_shardings(module)
        _refuse_backward_scans(module)
        _run_passes(module, f"builtin.module(func.func({','.join(_PASSES_WITH_CALLS)}))", filename)
        _inline_calls(module, entry, filename)
        _decompose(module)
        _run_passes(module, f"builtin.module({_PASSES_AFTER_INLINING})", filename)
        (function,) = (each.operation for each in module.body.operations)
    return function


def _run_passes(module: Any, pipeline: str, filename: str) -> None:
    """Run an MLIR pass pipeline. Raise Unsupported with the message of MLIR."""
    from jaxlib.mlir import ir
    from jaxlib.mlir.passmanager import PassManager

    try:
        PassManager.parse(pipeline).run(module.operation)
    except ir.MLIRError as error:
        raise Unsupported(f"{filename}: {error}") from None


def _drop_shardings(module: Any) -> None:
    """Remove shardings in place: they have no meaning on one device.

    JAX attaches a sharding even to its random numbers.
    """
    for each in list(iterate_operations(module.operation)):
        if each.name == "sdy.sharding_constraint":
            each.results[0].replace_all_uses_with(each.operands[0])
            each.erase()
        elif each.name == "sdy.mesh":
            each.erase()
        else:
            _drop_sharding_of(each)


def _drop_sharding_of(operation: Any) -> None:
    """Remove the sharding attributes of an operation, its arguments and its results.

    They would name a mesh that `_drop_shardings` has removed.
    """
    from jaxlib.mlir import ir

    if _SHARDING in operation.attributes:
        del operation.attributes[_SHARDING]
    for name in ("arg_attrs", "res_attrs"):
        if name in operation.attributes:
            marks = [ir.DictAttr(each) for each in ir.ArrayAttr(operation.attributes[name])]
            kept = [
                {key: mark[key] for key in (each.name for each in mark) if key != _SHARDING}
                for mark in marks
            ]
            operation.attributes[name] = ir.ArrayAttr.get([ir.DictAttr.get(each) for each in kept])


def _refuse_backward_scans(module: Any) -> None:
    """Raise Unsupported for a reverse `chlo.scan`.

    The pass of StableHLO that legalises scans would turn it into a forward scan.
    """
    from jaxlib.mlir import ir

    for each in iterate_operations(module.operation):
        backward = each.name == "chlo.scan" and "is_reverse" in each.attributes
        if backward and ir.BoolAttr(each.attributes["is_reverse"]).value:
            raise Unsupported(f"[chlo.scan] {format_location(each)}: is_reverse is not supported")


def _decompose(module: Any) -> None:
    """Replace composite operations by their decompositions, in place."""
    from jaxlib.mlir import ir

    for each in list(iterate_operations(module.operation)):
        text = decompose(each, f"[{each.name}] {format_location(each)}")
        if text is not None:
            whole = ir.Module.parse(text)  # must outlive the function, which is a part of it
            _replace(each, whole.body.operations[0].operation)


def _replace(operation: Any, function: Any) -> None:
    """Replace an operation by the body of a function with the same operand and result types."""
    from jaxlib.mlir import ir
    from jaxlib.mlir._mlir_libs import _jax_mlir_ext

    with ir.InsertionPoint(operation):
        results = _jax_mlir_ext.inlined_func_call(
            function, list(operation.operands), operation.location
        )
    for old, new in zip(operation.results, results, strict=True):
        old.replace_all_uses_with(new)
    operation.erase()


def _inline_calls(module: Any, entry: str, filename: str) -> None:
    """Inline all calls below `entry` and erase the other functions.

    MLIR's own inliner pass ignores func.call: jaxlib registers no inliner interface for it.
    """
    from jaxlib.mlir import ir

    functions = {
        ir.StringAttr(each.operation.attributes["sym_name"]).value: each.operation
        for each in module.body.operations
        if each.operation.name == "func.func"
    }
    if entry not in functions:
        known = ", ".join(functions) or "none"
        raise DeclarationError(f"{filename}: expected a function @{entry}, got {known}")
    check_calls(functions, entry, filename)
    while calls := [
        each for each in iterate_operations(functions[entry]) if each.name == "func.call"
    ]:
        for call in calls:
            name = ir.FlatSymbolRefAttr(call.attributes["callee"]).value
            _replace(call, functions[name])
    for each in list(module.body.operations):
        if each.operation != functions[entry]:
            each.operation.erase()
