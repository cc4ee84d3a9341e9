"""Numbers as MSL writes them, to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np

from metalbench.hlo.graph import ELEMENT_TYPES, ElementType


def format_literal(value: Any, element: ElementType) -> str:
    """An expression of an element's type with exactly this value."""
    if element.kind == "b":
        return "true" if value else "false"
    if element.is_float:
        return _format_float(value, element)
    if element.is_complex:
        return f"float2({', '.join(_format_float(each, ELEMENT_TYPES['f32']) for each in split_complex(value))})"
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
    """The real and the imaginary part of a complex number."""
    number = np.complex64(value)
    return number.real, number.imag


def format_lowest(element: ElementType) -> str:
    """The least value of an integer type."""
    return format_literal(0 if element.kind == "u" else -(2 ** (element.bits - 1)), element)
