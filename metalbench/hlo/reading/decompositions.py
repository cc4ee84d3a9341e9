"""Decompose composite operations as the StableHLO specification defines them."""

from __future__ import annotations

from math import prod
from typing import Any

from metalbench.errors import Unsupported

_ADD = "applies stablehlo.add across dimensions = [{axes}] : ({wide}, tensor<f32>) -> {few}"
# Sums are accumulated in float for all element types.
_TRAINING = """
func.func @batch_norm(%given: {all}, %scale: {feature}, %offset: {feature})
    -> ({all}, {feature}, {feature}) {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
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
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
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
    names = {
        "all": operand,
        "feature": f"tensor<{shape[axis]}x{operand.element_type}>",
        "wide": f"tensor<{''.join(f'{each}x' for each in shape)}f32>",
        "few": f"tensor<{shape[axis]}xf32>",
        "axis": axis,
        "axes": ", ".join(map(str, axes)),
        "count": prod(shape[each] for each in axes),
        "epsilon": f"{ir.FloatAttr(operation.attributes['epsilon']).value:.9e}",
    }
    return DECOMPOSITIONS[name].format(add=_ADD.format(**names), **names)
