"""Format arithmetic of loops over matrices, in float or on complex numbers."""

from __future__ import annotations

from metalbench.hlo.graph import ElementType


class Arithmetic:
    """Expressions on one element type, in the `type` that sums are accumulated in."""

    def __init__(self, element: ElementType) -> None:
        self._is_complex = element.is_complex
        self.type = element.msl if element.is_complex else "float"

    def widen(self, name: str) -> str:
        """Return an element in the accumulation type."""
        return f"{self.type}({name})"

    def multiply(self, left: str, right: str) -> str:
        """Return a product."""
        return f"shlo::times({left}, {right})" if self._is_complex else f"{left} * {right}"

    def divide(self, left: str, right: str) -> str:
        """Return a quotient."""
        return f"shlo::divide({left}, {right})" if self._is_complex else f"{left} / {right}"

    def divide_by_real(self, left: str, right: str) -> str:
        """Return a quotient by a number whose imaginary part is zero."""
        return f"{left} / {right}.x" if self._is_complex else f"{left} / {right}"

    def conjugate(self, name: str) -> str:
        """Return the complex conjugate."""
        return f"shlo::conjugate({name})" if self._is_complex else name

    def format_sqrt(self, name: str) -> str:
        """Return the square root of a number whose imaginary part is zero."""
        if self._is_complex:
            return f"float2(precise::sqrt({name}.x), 0.0f)"
        return f"precise::sqrt({name})"
