"""Emit batch normalisation with given statistics."""

from __future__ import annotations

from collections.abc import Sequence

from metalbench.hlo.emission.elementwise import cast_to_float
from metalbench.hlo.emission.writer import Emitter, Index, KernelWriter
from metalbench.hlo.graph import Operation


def emit_batch_norm_inference(
    writer: KernelWriter, operation: Operation, index: Index
) -> Sequence[str]:
    """Emit (x - mean) / sqrt(variance + epsilon) * scale + offset for a feature, in float."""
    element = operation.results[0].type.element
    feature = (index[operation.attributes["feature_index"]],)
    operand, *of_features = operation.operands
    x = cast_to_float(writer.emit_value(operand, index), element)
    scale, offset, mean, variance = (
        cast_to_float(writer.emit_value(each, feature), element) for each in of_features
    )
    epsilon = f"{operation.attributes['epsilon']!r}f"
    centred = writer.declare("float", f"{x} - {mean}")
    deviation = writer.declare("float", f"precise::sqrt({variance} + {epsilon})")
    text = f"{centred} / {deviation} * {scale} + {offset}"
    return [
        writer.declare(element.msl, text if element.name == "f32" else f"{element.msl}({text})")
    ]


NORMALIZATION_EMITTERS: dict[str, Emitter] = {"batch_norm_inference": emit_batch_norm_inference}
