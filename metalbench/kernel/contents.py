"""Contents of buffers and textures of standalone kernels: `normal`, `integers 0 64`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from metalbench.errors import DeclarationError, suggestion
from metalbench.task.dtypes import DType
from metalbench.task.inputs import Draw

LONGEST_NUMBER = 64
OUTPUT, INOUT, SCRATCH = "output", "inout", "scratch"


def parse_contents(words: list[str], dtype: DType | None) -> Draw:
    """Return the function that draws the contents `words` of an array of `dtype`.

    Raise DeclarationError for unknown contents.
    """
    name, *given = words or [""]
    numbers = [each for each in map(parse_number, given) if each is not None]
    if name not in CONTENTS:
        raise DeclarationError(
            f"unknown content {name!r}; {suggestion(name, [*CONTENTS, OUTPUT, SCRATCH])}"
        )
    draw, counts = CONTENTS[name]
    if len(given) not in counts or len(numbers) != len(given):
        example = "`integers 0 64`" if name == "integers" else f"`{name}`"
        raise DeclarationError(f"content {' '.join(words)!r}: expected such as {example}")
    if name == "uniform" and numbers and not numbers[0] <= numbers[1]:
        raise DeclarationError(f"content {' '.join(words)!r}: expected the lower bound first")
    if name == "integers" and not numbers[0] < numbers[1]:
        raise DeclarationError(f"content {' '.join(words)!r}: expected the lower bound first")
    if name == "integers" and dtype is not None and dtype.numpy.kind in "iu":
        least, most = np.iinfo(dtype.numpy).min, np.iinfo(dtype.numpy).max
        if not (least <= numbers[0] and numbers[1] - 1 <= most):
            raise DeclarationError(
                f"content {' '.join(words)!r}: expected integers of {dtype.name}, from {least} to "
                f"{most} (the upper bound is not drawn)"
            )
    return partial(draw, numbers, dtype)


def parse_number(text: str) -> int | float | None:
    """Return `text` as an integer, else as a float; None for other text.

    Numbers below -2^63 or above 2^64 (the exclusive end of uint64's range), infinity and NaN give
    None.
    """
    if len(text) > LONGEST_NUMBER:
        return None
    for kind in (int, float):
        try:
            number: int | float = kind(text)
        except ValueError:
            continue
        fits = math.isfinite(number) if isinstance(number, float) else -(2**63) <= number <= 2**64
        return number if fits else None
    return None


Numbers = list[int | float]
Shape = tuple[int, ...]
Values = Mapping[str, int]
Drawn = np.ndarray[Any, Any]


def _plain(array: Drawn, dtype: DType | None) -> Drawn:
    """Return floats as tasks draw them, and anything else in its own type."""
    is_float = dtype is None or dtype.is_float
    return array.astype(np.float32 if dtype is None or is_float else dtype.numpy)


def _normal(
    _: Numbers, dtype: DType | None, rng: np.random.Generator, shape: Shape, __: Values
) -> Drawn:
    return _plain(rng.standard_normal(shape), dtype)


def _uniform(
    bounds: Numbers, dtype: DType | None, rng: np.random.Generator, shape: Shape, _: Values
) -> Drawn:
    low, high = bounds or (0.0, 1.0)
    return _plain(rng.uniform(low, high, shape), dtype)


def _integers(
    bounds: Numbers, dtype: DType | None, rng: np.random.Generator, shape: Shape, _: Values
) -> Drawn:
    low, high = int(bounds[0]), int(bounds[1])
    if dtype is not None and dtype.numpy.kind in "iu" and dtype.nbytes == 8:
        return rng.integers(low, high, shape, dtype=dtype.numpy)
    return _plain(rng.integers(low, high, shape), dtype)


def _constant(
    value: int, _: Numbers, dtype: DType | None, __: np.random.Generator, shape: Shape, ___: Values
) -> Drawn:
    return _plain(np.full(shape, value), dtype)


def _iota(
    _: Numbers, dtype: DType | None, __: np.random.Generator, shape: Shape, ___: Values
) -> Drawn:
    return _plain(np.arange(np.prod(shape, dtype=np.int64)).reshape(shape), dtype)


def copy_given(array: Drawn, _: np.random.Generator, __: Shape, ___: Values) -> Drawn:
    """Return the array itself, as it was given."""
    return array


# By name: how it is drawn, and how many numbers it takes.
CONTENTS: dict[str, tuple[Any, tuple[int, ...]]] = {
    "normal": (_normal, (0,)),
    "uniform": (_uniform, (0, 2)),
    "integers": (_integers, (2,)),
    "zeros": (partial(_constant, 0), (0,)),
    "ones": (partial(_constant, 1), (0,)),
    "iota": (_iota, (0,)),
}
