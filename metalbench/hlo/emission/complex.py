"""Arithmetic on complex numbers, which are pairs of floats in kernels."""

from __future__ import annotations

from collections.abc import Sequence

from metalbench.errors import Unsupported
from metalbench.hlo.graph import Operation

# Kernels whose text has this type need the header.
TYPE, HEADER = "float2", '#include "complex.h"\n'
# Of {0}, {1} as complex numbers.
ARITHMETIC = {
    "add": "{0} + {1}",
    "atan2": "shlo::arc_tangent({0}, {1})",
    "cbrt": "shlo::cbrt({0})",
    "cosine": "shlo::cosine({0})",
    "divide": "shlo::divide({0}, {1})",
    "exponential": "shlo::exponential({0})",
    "exponential_minus_one": "shlo::exponential_minus_one({0})",
    "log": "shlo::logarithm({0})",
    "log_plus_one": "shlo::log_plus_one({0})",
    "logistic": "shlo::logistic({0})",
    "maximum": "shlo::maximum({0}, {1})",
    "minimum": "shlo::minimum({0}, {1})",
    "multiply": "shlo::times({0}, {1})",
    "negate": "-{0}",
    "power": "shlo::power({0}, {1})",
    "rsqrt": "shlo::reciprocal_root({0})",
    "sign": "shlo::sign({0})",
    "sine": "shlo::sine({0})",
    "sqrt": "shlo::square_root({0})",
    "subtract": "{0} - {1}",
    "tan": "shlo::tangent({0})",
    "tanh": "shlo::tanh({0})",
}
_EQUAL = {"EQ": "{0}.x == {1}.x && {0}.y == {1}.y", "NE": "{0}.x != {1}.x || {0}.y != {1}.y"}


def made(operation: Operation, names: Sequence[str]) -> str:
    """A complex number of a real and an imaginary part."""
    return f"float2({names[0]}, {names[1]})"


def real(operation: Operation, names: Sequence[str]) -> str:
    """The real part, which is all of a number that is not complex."""
    return f"{names[0]}.x" if operation.operands[0].type.element.is_complex else names[0]


def imaginary(operation: Operation, names: Sequence[str]) -> str:
    """The imaginary part, which is zero of a number that is not complex."""
    element = operation.operands[0].type.element
    return f"{names[0]}.y" if element.is_complex else f"{element.msl}(0)"


def compared(operation: Operation, names: Sequence[str]) -> str:
    """Whether numbers are equal, or not. Raises Unsupported for an order, which they have not."""
    direction = operation.attributes["comparison_direction"]
    if direction not in _EQUAL:
        raise Unsupported(f"{operation.where}: complex numbers have no order, got {direction}")
    return _EQUAL[direction].format(*names)
