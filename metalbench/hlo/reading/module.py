"""Parse and legalise MLIR modules with jaxlib: one function, only StableHLO, no calls."""

from __future__ import annotations

from functools import cache
from typing import Any

from metalbench.errors import DeclarationError, Unsupported
from metalbench.hlo.jaxlib_version import check_jaxlib
from metalbench.hlo.reading.calls import check_calls
from metalbench.hlo.reading.decompositions import decompose
from metalbench.hlo.reading.location import format_location
from metalbench.hlo.reading.nesting import check_brackets, check_regions, iterate_operations

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
