"""Import blocks, types, constants and attributes of MLIR operations, with their locations."""

from __future__ import annotations

import re
from math import prod
from typing import Any

import numpy as np

from metalbench.errors import Unsupported
from metalbench.hlo.ir import (
    ELEMENT_TYPES,
    Block,
    ElementType,
    Operation,
    TensorType,
    TensorValue,
    find_element_type,
)
from metalbench.hlo.operations import check_arity

_PLACE = re.compile(r'"([^"]*)"(?::(\d+):(\d+))?')


def format_location(operation: Any) -> str:
    """Return the location of an operation: FILE:LINE:COLUMN, or its name in JAX."""
    found = _PLACE.search(str(operation.location))
    return ":".join(filter(None, found.groups())) if found else "at an unknown place"


# Convert attributes of StableHLO operations to Python values.

_DIMENSIONS = {
    "dot": (
        "DotDimensionNumbers",
        "lhs_batching_dimensions",
        "rhs_batching_dimensions",
        "lhs_contracting_dimensions",
        "rhs_contracting_dimensions",
    ),
    "gather": (
        "GatherDimensionNumbers",
        "offset_dims",
        "collapsed_slice_dims",
        "operand_batching_dims",
        "start_indices_batching_dims",
        "start_index_map",
        "index_vector_dim",
    ),
    "scatter": (
        "ScatterDimensionNumbers",
        "update_window_dims",
        "inserted_window_dims",
        "input_batching_dims",
        "scatter_indices_batching_dims",
        "scattered_dims_to_operand_dims",
        "index_vector_dim",
    ),
    "conv": (
        "ConvDimensionNumbers",
        "input_batch_dimension",
        "input_feature_dimension",
        "input_spatial_dimensions",
        "kernel_input_feature_dimension",
        "kernel_output_feature_dimension",
        "kernel_spatial_dimensions",
        "output_batch_dimension",
        "output_feature_dimension",
        "output_spatial_dimensions",
    ),
}
# For example `#stablehlo<comparison_direction LT>`: jaxlib has no class for it.
_ENUMERATION = re.compile(r"#stablehlo<\w+ (\w+)>")
_KIND = re.compile(r"#stablehlo\.(\w+)")
# Hints, names and layouts: they do not change results.
_IGNORED = (
    "precision_config",
    "indices_are_sorted",
    "is_stable",
    "mhlo.sharding",
    "result_accuracy",
    "algorithm",
    "sdy.sharding",
    "xla_shape",
)


def import_attributes(operation: Any) -> dict[str, Any]:
    """Return the attributes that affect the result; the value of a constant is omitted."""
    return {
        name: convert_attribute(operation.attributes[name])
        for name in operation.attributes
        if name not in _IGNORED
    }


def convert_attribute(attribute: Any) -> Any:
    """Return an attribute as a Python value.

    It is a number, a string, a tuple, or a dict for dimension numbers. Other attributes become
    their MLIR text.
    """
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo

    for kind in (ir.DenseI64ArrayAttr, ir.DenseBoolArrayAttr):
        if isinstance(attribute, kind):
            return tuple(kind(attribute))
    for kind in (ir.BoolAttr, ir.IntegerAttr, ir.FloatAttr, ir.StringAttr, ir.FlatSymbolRefAttr):
        if isinstance(attribute, kind):
            return kind(attribute).value
    if isinstance(attribute, ir.DenseElementsAttr):
        return np.array(attribute)
    text = str(attribute)
    if enumeration := _ENUMERATION.fullmatch(text):
        return enumeration.group(1)
    kind = _KIND.match(text)
    if kind is None or kind.group(1) not in _DIMENSIONS:
        return text
    name, *fields = _DIMENSIONS[kind.group(1)]
    numbers = getattr(stablehlo, name)(attribute)
    return {each: _plain(getattr(numbers, each)) for each in fields}


def _plain(value: Any) -> Any:
    return value if isinstance(value, int) else tuple(value)


# Convert MLIR constants to NumPy arrays, for all element types.

_TEXT = re.compile(r"dense<(.*)> : tensor<", re.DOTALL)
# Types whose elements jaxlib returns only as text.
_AS_TEXT = frozenset(
    name
    for name, each in ELEMENT_TYPES.items()
    if each.is_narrow or each.is_complex or each.is_small_float or name == "bf16"
)
Array = np.ndarray[Any, Any]


def import_constant(operation: Any, type_: TensorType) -> Array:
    """Return the elements of a `stablehlo.constant`, in their storage type."""
    if type_.element.name in _AS_TEXT:
        found = _TEXT.search(operation.get_asm(large_elements_limit=None))
        values = _parse_elements(found.group(1) if found else "", type_)
    else:
        values = np.array(operation.attributes["value"])
    if values.size == 1 or (values.size and not any(values.strides)):
        # A splat: store one element.
        first = np.array(values[(0,) * values.ndim], type_.element.storage)
        return np.broadcast_to(first, type_.shape)
    return np.array(values.reshape(type_.shape), type_.element.storage, order="C")


def _parse_elements(text: str, type_: TensorType) -> Array:
    """Return the elements of a constant's MLIR text."""
    element = type_.element
    text = text.strip()
    if text.startswith('"0x'):
        # Little-endian and row-major; a splat has one element.
        return np.frombuffer(bytes.fromhex(text[3:-1]), element.storage)
    words = re.findall(r"[^\s,\[\]()]+", text)
    if element.is_complex:
        # Pairs, the real part first.
        part = element.arithmetic.storage
        return np.array([_parse_float(word, part) for word in words], part).view(element.storage)
    numbers = [_parse_number(word, element) for word in words]
    if element.is_float:
        return np.array(numbers, f"u{element.storage.itemsize}").view(element.storage)
    return np.array(numbers, np.int64)


def _parse_float(word: str, type_: np.dtype[Any]) -> Any:
    """Return a number of a type from decimal digits or from the hexadecimal digits of its bits."""
    if word.startswith("0x"):
        return np.array(int(word, 16), f"u{type_.itemsize}").view(type_)[()]
    return type_.type(word)


def _parse_number(word: str, element: ElementType) -> int:
    """Return an integer, or the bits of a float."""
    if not element.is_float:
        return int({"true": "1", "false": "0"}.get(word, word), 0)
    if word.startswith("0x"):
        return int(word, 16)
    number = np.array(float(word)).astype(element.storage)
    return int(number.view(f"u{element.storage.itemsize}"))


# Build the graph of a legalised MLIR function.

# Indices in kernels are 32-bit integers.
MAX_ELEMENTS = 2**31 - 1
_TERMINATORS = ("func.return", "stablehlo.return")


def import_block(mlir: Any, values: dict[Any, TensorValue] | None = None) -> Block:
    """Return the graph of an MLIR block; `values` maps the values that the block may capture.

    Raise Unsupported with the operation's name for element types that kernels do not have, for
    branches between blocks, and for another number of operands, results or regions than the
    registered one.
    """
    values = dict(values or {})
    block = Block(
        [
            TensorValue(import_type(each.type, f"argument {number}"))
            for number, each in enumerate(mlir.arguments)
        ]
    )
    values.update(zip(mlir.arguments, block.arguments, strict=True))
    *inner, terminator = (each.operation for each in mlir.operations)
    if terminator.name not in _TERMINATORS:
        raise Unsupported(
            f"[{terminator.name}] {format_location(terminator)}: expected one block that ends with "
            f"{' or '.join(_TERMINATORS)}; use stablehlo.if, stablehlo.case or stablehlo.while"
        )
    for each in inner:
        block.operations.append(_import_operation(each, values))
    block.returned = [values[each] for each in terminator.operands]
    return block


def _import_operation(mlir: Any, values: dict[Any, TensorValue]) -> Operation:
    """Return the graph's operation for an MLIR operation, and add its results to `values`."""
    dialect, _, name = mlir.name.partition(".")
    location = format_location(mlir)
    where = f"[{mlir.name}] {location}"
    if dialect != "stablehlo":
        raise Unsupported(f"{where}: operations of the dialect {dialect} are not supported")
    types = [import_type(each.type, where) for each in mlir.results]
    operation = Operation(
        name=name,
        operands=[values[each] for each in mlir.operands],
        results=[],
        attributes={"value": import_constant(mlir, types[0])}
        if name == "constant"
        else import_attributes(mlir),
        regions=[import_block(each.blocks[0], values) for each in mlir.regions],
        location=location,
    )
    if name in ("case", "custom_call", "if") and not types:
        types = [_TOKEN]
        for region in operation.regions:
            token = _create_token(operation.location)
            region.operations.append(token)
            region.returned = list(token.results)
    elif name in ("after_all", "create_token"):
        operation = _create_token(operation.location)
    operation.results = [TensorValue(each, operation, number) for number, each in enumerate(types)]
    check_arity(operation)
    # A token that was added has no value of MLIR.
    values.update(zip(mlir.results, operation.results, strict=False))
    return operation


# Tokens order effects. A token is a tensor without elements, so that dependencies on it are those
# of any other value. JAX passes the same tensors as tokens between programs. An operation without
# results is run for its effects, and gets a token as its result.
_TOKEN = TensorType((0,), find_element_type("i1", "a token"))


def _create_token(location: str) -> Operation:
    """Return an operation that defines a token."""
    value = np.zeros(_TOKEN.shape, _TOKEN.element.storage)
    operation = Operation("constant", [], [], {"value": value}, [], location)
    operation.results = [TensorValue(_TOKEN, operation)]
    return operation


def import_type(mlir: Any, where: str) -> TensorType:
    """Return the type of a tensor or of a token.

    Raise Unsupported, beginning with `where`, for other types and dynamic shapes.
    """
    from jaxlib.mlir import ir

    if str(mlir) == "!stablehlo.token":
        return _TOKEN
    if not isinstance(mlir, ir.RankedTensorType):
        raise Unsupported(f"{where}: expected tensors, got {mlir}")
    tensor = ir.RankedTensorType(mlir)
    if not tensor.has_static_shape:
        raise Unsupported(f"{where}: expected a static shape, got {mlir}; refine the shapes first")
    shape = tuple(tensor.shape)
    if prod(shape) > MAX_ELEMENTS:
        raise Unsupported(f"{where}: expected at most {MAX_ELEMENTS} elements, got {mlir}")
    return TensorType(shape, find_element_type(str(tensor.element_type), where))
