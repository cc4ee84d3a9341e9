"""Normalisation by statistics that are given."""

from __future__ import annotations

from collections.abc import Sequence

from metalbench.hlo.emission.elementwise import as_float
from metalbench.hlo.emission.writer import Emitter, Index, Writer
from metalbench.hlo.graph import Operation


def batch_norm_inference(writer: Writer, operation: Operation, index: Index) -> Sequence[str]:
    """(x - mean) / sqrt(variance + epsilon) * scale + offset, each of its feature; in float."""
    element = operation.results[0].type.element
    feature = (index[operation.attributes["feature_index"]],)
    operand, *of_features = operation.operands
    x = as_float(writer.value(operand, index), element)
    scale, offset, mean, variance = (
        as_float(writer.value(each, feature), element) for each in of_features
    )
    epsilon = f"{operation.attributes['epsilon']!r}f"
    centred = writer.declare("float", f"{x} - {mean}")
    deviation = writer.declare("float", f"precise::sqrt({variance} + {epsilon})")
    text = f"{centred} / {deviation} * {scale} + {offset}"
    return [
        writer.declare(element.msl, text if element.name == "f32" else f"{element.msl}({text})")
    ]


EMITTERS: dict[str, Emitter] = {"batch_norm_inference": batch_norm_inference}
