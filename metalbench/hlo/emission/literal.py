"""Format numbers as exact MSL literals."""

from __future__ import annotations

from typing import Any

import numpy as np

from metalbench.hlo.graph import ELEMENT_TYPES, ElementType


def format_literal(value: Any, element: ElementType) -> str:
    """Return an MSL expression of an element type with exactly this value."""
    if element.kind == "b":
        return "true" if value else "false"
    if element.is_float:
        return _format_float(value, element)
    if element.is_complex:
        real, imaginary = (
            _format_float(each, ELEMENT_TYPES["f32"]) for each in split_complex(value)
        )
        return f"float2({real}, {imaginary})"
    number = int(value)
    if element.bits == 64:
        text = f"{number & (2**64 - 1)}ul" if element.kind == "u" else f"{number}l"
        return f"long({number & (2**64 - 1)}ul)" if number == -(2**63) else text
    if number == -(2**31):
        return "int(0x80000000u)"
    return f"{element.msl}({number}{'u' if element.kind == 'u' else ''})"


def _format_float(value: Any, element: ElementType) -> str:
    if not np.isfinite(np.float32(value)):
        bits = int(np.asarray(value, element.storage).view(f"u{element.bits // 8}"))
        integer = "uint" if element.bits == 32 else "ushort"
        return f"as_type<{element.msl}>({integer}({bits:#x}u))"
    text = f"{np.float32(value)!s}"
    single = f"{text}f" if "." in text or "e" in text else f"{text}.0f"
    return single if element.name == "f32" else f"{element.msl}({single})"


def split_complex(value: Any) -> tuple[Any, Any]:
    """Return the real and the imaginary part of a complex number."""
    number = np.complex64(value)
    return number.real, number.imag


def format_lowest(element: ElementType) -> str:
    """Return the smallest value of an integer type."""
    return format_literal(0 if element.kind == "u" else -(2 ** (element.bits - 1)), element)
