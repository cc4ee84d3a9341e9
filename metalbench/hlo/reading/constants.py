"""Convert MLIR constants to NumPy arrays, for all element types."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from metalbench.hlo.graph import TensorType

_TEXT = re.compile(r"dense<(.*)> : tensor<", re.DOTALL)
# Types whose elements jaxlib returns only as text.
_AS_TEXT = ("bf16", "i2", "i4", "ui2", "ui4", "complex<f32>")
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
        return np.array([_parse_float(word) for word in words], np.float32).view(element.storage)
    numbers = [_parse_number(word, element.name) for word in words]
    if element.name == "bf16":
        return np.array(numbers, np.uint16).view(element.storage)
    return np.array(numbers, np.int64)


def _parse_float(word: str) -> Any:
    """Return a float32 from decimal digits or from the hexadecimal digits of its bits."""
    if word.startswith("0x"):
        return np.array(int(word, 16), np.uint32).view(np.float32)[()]
    return np.float32(word)


def _parse_number(word: str, name: str) -> int:
    if name != "bf16":
        return int({"true": "1", "false": "0"}.get(word, word), 0)
    if word.startswith("0x"):
        return int(word, 16)
    import ml_dtypes

    return int(np.array(float(word), ml_dtypes.bfloat16).view(np.uint16))
