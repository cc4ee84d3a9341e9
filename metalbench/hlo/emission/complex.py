"""Arithmetic on complex numbers, which are pairs of floats in kernels."""

from __future__ import annotations

from collections.abc import Sequence

from metalbench.errors import Unsupported
from metalbench.hlo.graph import Operation

# Kernels whose text has this type need the header.
COMPLEX_TYPE, COMPLEX_HEADER = "float2", '#include "complex.h"\n'
_EQUAL = {"EQ": "{0}.x == {1}.x && {0}.y == {1}.y", "NE": "{0}.x != {1}.x || {0}.y != {1}.y"}


def format_complex(operation: Operation, names: Sequence[str]) -> str:
    """A complex number of a real and an imaginary part."""
    return f"float2({names[0]}, {names[1]})"


def format_real(operation: Operation, names: Sequence[str]) -> str:
    """The real part, which is all of a number that is not complex."""
    return f"{names[0]}.x" if operation.operands[0].type.element.is_complex else names[0]


def format_imag(operation: Operation, names: Sequence[str]) -> str:
    """The imaginary part, which is zero of a number that is not complex."""
    element = operation.operands[0].type.element
    return f"{names[0]}.y" if element.is_complex else f"{element.msl}(0)"


def format_complex_compare(operation: Operation, names: Sequence[str]) -> str:
    """Whether numbers are equal, or not. Raises Unsupported for an order, which they have not."""
    direction = operation.attributes["comparison_direction"]
    if direction not in _EQUAL:
        raise Unsupported(f"{operation.where}: complex numbers have no order, got {direction}")
    return _EQUAL[direction].format(*names)
