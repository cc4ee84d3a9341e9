"""Convert attributes of StableHLO operations to Python values."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

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
