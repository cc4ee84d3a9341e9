"""Element types of tensors: StableHLO name, MSL type and NumPy types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from metalbench.errors import Unsupported


@dataclass(frozen=True)
class ElementType:
    """One element type; `kind` is b(ool), i(nteger), u(nsigned), f(loat) or c(omplex)."""

    name: str
    kind: str
    bits: int
    msl: str

    @property
    def storage(self) -> np.dtype[Any]:
        """NumPy type of one element in memory. Integers of two and four bits take a byte."""
        name: Any = f"{self.kind}{max(self.bits, 8) // 8}"
        if not self.is_integer:
            name = {"bf16": ml_dtypes.bfloat16, "i1": np.bool_}.get(self.name, name)
        found: np.dtype[Any] = np.dtype(name)
        return found

    @property
    def numpy(self) -> np.dtype[Any]:
        """NumPy (or ml_dtypes) type of the values."""
        if self.is_narrow:
            found: np.dtype[Any] = np.dtype(
                getattr(ml_dtypes, f"{'u' * (self.kind == 'u')}int{self.bits}")
            )
            return found
        return self.storage

    @property
    def is_integer(self) -> bool:
        """Whether it is a signed or unsigned integer type; bool is not one."""
        return self.kind in "iu"

    @property
    def is_float(self) -> bool:
        """Whether it is a floating-point type."""
        return self.kind == "f"

    @property
    def is_complex(self) -> bool:
        """Whether it is a pair of floats, real part first."""
        return self.kind == "c"

    @property
    def is_narrow(self) -> bool:
        """Whether it has fewer than eight bits, and must be truncated after each operation."""
        return self.is_integer and self.bits < 8

    @property
    def wrapping(self) -> str:
        """Unsigned MSL type whose arithmetic wraps as that of StableHLO does."""
        return "ulong" if self.bits == 64 else "uint"


_WIDTHS = {2: "char", 4: "char", 8: "char", 16: "short", 32: "int", 64: "long"}
ELEMENT_TYPES = {
    each.name: each
    for each in (
        ElementType("i1", "b", 1, "bool"),
        *(ElementType(f"i{bits}", "i", bits, msl) for bits, msl in _WIDTHS.items()),
        *(ElementType(f"ui{bits}", "u", bits, f"u{msl}") for bits, msl in _WIDTHS.items()),
        ElementType("f16", "f", 16, "half"),
        ElementType("bf16", "f", 16, "bfloat"),
        ElementType("f32", "f", 32, "float"),
        ElementType("complex<f32>", "c", 64, "float2"),
    )
}


def find_element_type(name: str, where: str) -> ElementType:
    """Return the element type with StableHLO's name `name`.

    Raise Unsupported, beginning with `where`, if kernels have no such type.
    """
    found = ELEMENT_TYPES.get(name)
    if found is None:
        why = "Metal has no double" if "f64" in name else "it has no type in Metal's language here"
        raise Unsupported(
            f"{where}: element type {name}: {why}; expected one of {', '.join(ELEMENT_TYPES)}"
        )
    return found
