"""How a value differs from lane to lane."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from itertools import pairwise


class Same(Enum):
    """Shapes without anything to tell: all lanes have one value, or each has any."""

    UNIFORM = "uniform"
    VARYING = "varying"

    def __repr__(self) -> str:
        return self.value


UNIFORM, VARYING = Same.UNIFORM, Same.VARYING


@dataclass(frozen=True, slots=True)
class Linear:
    """Lane k has what lane 0 has and k times `stride` more, in its own bits; bytes, of an address.

    `checked` says that this holds only if a check at run time says so: where a narrower sum that
    was widened may have wrapped on the way.
    """

    stride: int
    checked: bool = False

    def __repr__(self) -> str:
        return f"linear {self.stride}{'?' if self.checked else ''}"


@dataclass(frozen=True, slots=True)
class Known:
    """Every lane has a value of its own that is known: `values[k]`, as an unsigned number."""

    values: tuple[int, ...]

    def __repr__(self) -> str:
        return f"known {', '.join(map(str, self.values))}"


Shape = Same | Linear | Known


def strided(stride: int, *, checked: bool = False) -> Shape:
    """Linear, unless there is nothing to it."""
    return Linear(stride, checked) if stride or checked else UNIFORM


def stride_of(shape: Shape) -> int | None:
    """From one lane to the next, 0 of uniform values; None where there is no such thing."""
    shape = as_linear(shape)
    if isinstance(shape, Linear):
        return shape.stride
    return 0 if shape is UNIFORM else None


def is_checked(shape: Shape) -> bool:
    """Whether it takes a check at run time."""
    return isinstance(shape, Linear) and shape.checked


def as_linear(shape: Shape) -> Shape:
    """Known values that follow each other evenly are linear; others vary."""
    if not isinstance(shape, Known):
        return shape
    values = shape.values
    stride = values[1] - values[0]
    even = all(after - before == stride for before, after in pairwise(values))
    return strided(stride) if even else VARYING


def join(one: Shape, other: Shape) -> Shape:
    """What is true of both."""
    if one == other:
        return one
    one, other = as_linear(one), as_linear(other)
    if isinstance(one, Linear) and isinstance(other, Linear) and one.stride == other.stride:
        return Linear(one.stride, one.checked or other.checked)
    return one if one == other else VARYING
