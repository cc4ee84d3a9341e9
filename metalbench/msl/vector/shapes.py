"""The uniformity lattice: how a value differs from lane to lane.

Uniform and constant values are affine ones in a wider sense; varying is the top.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from itertools import pairwise


class BasicUniformity(Enum):
    """Uniformity without parameters: all lanes have one value, or each lane has any value."""

    UNIFORM = "uniform"
    VARYING = "varying"

    def __repr__(self) -> str:
        return self.value


UNIFORM, VARYING = BasicUniformity.UNIFORM, BasicUniformity.VARYING


@dataclass(frozen=True, slots=True)
class Affine:
    """Lane k has the value of lane 0 plus k times `stride`, modulo the type; bytes for addresses.

    If `checked`, this holds only where a check at run time passes: a narrower sum may have wrapped
    before it was extended.
    """

    stride: int
    checked: bool = False

    def __repr__(self) -> str:
        return f"linear {self.stride}{'?' if self.checked else ''}"


@dataclass(frozen=True, slots=True)
class Constant:
    """Each lane has a known constant: `values[k]`, as an unsigned number."""

    values: tuple[int, ...]

    def __repr__(self) -> str:
        return f"known {', '.join(map(str, self.values))}"


Uniformity = BasicUniformity | Affine | Constant


def make_affine(stride: int, *, checked: bool = False) -> Uniformity:
    """Return an affine uniformity; UNIFORM for stride 0 without a check."""
    return Affine(stride, checked) if stride or checked else UNIFORM


def get_stride(uniformity: Uniformity) -> int | None:
    """Return the difference from a lane to the next, 0 for uniform values; None if it varies."""
    uniformity = to_affine(uniformity)
    if isinstance(uniformity, Affine):
        return uniformity.stride
    return 0 if uniformity is UNIFORM else None


def is_checked(uniformity: Uniformity) -> bool:
    """Return whether a check at run time must pass."""
    return isinstance(uniformity, Affine) and uniformity.checked


def to_affine(uniformity: Uniformity) -> Uniformity:
    """Return constants with equal differences as affine, other constants as varying."""
    if not isinstance(uniformity, Constant):
        return uniformity
    values = uniformity.values
    stride = values[1] - values[0]
    even = all(after - before == stride for before, after in pairwise(values))
    return make_affine(stride) if even else VARYING


def join(one: Uniformity, other: Uniformity) -> Uniformity:
    """Return the least upper bound of two uniformities."""
    if one == other:
        return one
    one, other = to_affine(one), to_affine(other)
    if isinstance(one, Affine) and isinstance(other, Affine) and one.stride == other.stride:
        return Affine(one.stride, one.checked or other.checked)
    return one if one == other else VARYING
