"""Format expressions on complex numbers, which are pairs of floats in kernels."""

from __future__ import annotations

from collections.abc import Sequence

from metalbench.errors import Unsupported
from metalbench.hlo.graph import Operation

# Kernels that use this type need the header.
COMPLEX_TYPE, COMPLEX_HEADER = "float2", '#include "complex.h"\n'
_EQUAL = {"EQ": "{0}.x == {1}.x && {0}.y == {1}.y", "NE": "{0}.x != {1}.x || {0}.y != {1}.y"}


def format_complex(operation: Operation, names: Sequence[str]) -> str:
    """Return a complex number with a real and an imaginary part."""
    return f"float2({names[0]}, {names[1]})"


def format_real(operation: Operation, names: Sequence[str]) -> str:
    """Return the real part; a number that is not complex is its own real part."""
    return f"{names[0]}.x" if operation.operands[0].type.element.is_complex else names[0]


def format_imag(operation: Operation, names: Sequence[str]) -> str:
    """Return the imaginary part; it is zero for a number that is not complex."""
    element = operation.operands[0].type.element
    return f"{names[0]}.y" if element.is_complex else f"{element.msl}(0)"


def format_complex_compare(operation: Operation, names: Sequence[str]) -> str:
    """Return whether numbers are equal or not. Raise Unsupported for an ordering."""
    direction = operation.attributes["comparison_direction"]
    if direction not in _EQUAL:
        raise Unsupported(f"{operation.where}: complex numbers have no order, got {direction}")
    return _EQUAL[direction].format(*names)
