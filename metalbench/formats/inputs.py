"""Inputs of tasks for quantised weights. All parts encode one plain random matrix.

Independent random words and scales would not resemble real weights.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from metalbench.expression import parse
from metalbench.formats.blocks import BLOCKS
from metalbench.formats.encodings import LARGEST, MODES, Affine, to_e4m3
from metalbench.task.dtypes import DType, dtype
from metalbench.task.inputs import Input, coarse, even, heavy_tailed, normal, sparse

Array = np.ndarray[Any, Any]
Parts = tuple[Array, ...]


@dataclass
class _Whole:
    """A matrix that several inputs encode. Its parts are cached until each was read."""

    plain: Input
    quantised: Callable[[Array], Parts]
    count: int
    _made: dict[object, tuple[Parts, set[int]]] = field(default_factory=dict)
    _keeping: threading.Lock = field(default_factory=threading.Lock)

    def part(
        self, at: int, random: np.random.Generator, values: Mapping[str, int], seed: int
    ) -> Array:
        """Return one of the parts; for generators in the same state they are of one matrix."""
        key = (str(random.bit_generator.state), tuple(values.items()), seed)
        with self._keeping:
            if key not in self._made:
                self._made[key] = (
                    self.quantised(self.plain.draw_array(random, values, seed)),
                    set(),
                )
            parts, taken = self._made[key]
            taken.add(at)
            if len(taken) == self.count:
                del self._made[key]
        return parts[at]


@dataclass(frozen=True, kw_only=True)
class EncodedPart(Input):
    """One of the inputs that encode a matrix."""

    whole: _Whole
    at: int

    def draw_array(
        self, random: np.random.Generator, values: Mapping[str, int], seed: int
    ) -> np.ndarray[Any, Any]:
        """Return the array for `values` of the sizes."""
        return self.whole.part(self.at, random, values, seed)


def quantised(
    *dims: str | int, format: Affine, name: str = "w", plain: Input | None = None
) -> dict[str, Input]:
    """Return the inputs `w`, `w_scales` and `w_biases` of a matrix (or several) in this format.

    `dims` are the dims of the plain matrix. `plain` is its distribution, by default normal with the
    variations of weights. Words are uint32 (..., last * bits / 32), scales and biases (...,
    last / group) in the type of the run.
    """
    *rows, last = map(str, dims)
    groups = (*rows, f"({last}) / {format.group}")
    shapes = [
        (("", (*rows, f"({last}) * {format.bits} / 32"), dtype("uint32"))),
        ("_scales", groups, None),
        ("_biases", groups, None),
    ]
    return _parts(name, plain or _weights(*dims), format.quantised, shapes, format.name)


def minifloat(
    *dims: str | int, mode: str, name: str = "w", plain: Input | None = None
) -> dict[str, Input]:
    """Return the inputs `w` and `w_scales` of a matrix (or several) in one of MODES.

    As `quantised`; scales are uint8 (..., last / group).
    """
    *rows, last = map(str, dims)
    chosen = MODES[mode]
    shapes = [
        ("", (*rows, f"({last}) * {chosen.bits} / 32"), dtype("uint32")),
        ("_scales", (*rows, f"({last}) / {chosen.group}"), dtype("uint8")),
    ]
    return _parts(name, plain or _weights(*dims), chosen.quantised, shapes, mode)


def blocks(
    *dims: str | int, format: str, name: str = "w", plain: Input | None = None
) -> dict[str, Input]:
    """Return the input `w` of a matrix (or several) in one of BLOCKS.

    As `quantised`; it is uint8 (..., last / weights of a block * bytes of a block).
    """
    *rows, last = map(str, dims)
    chosen = BLOCKS[format]
    shapes = [
        ("", (*rows, f"({last}) / {chosen.group} * {chosen.nbytes}"), dtype("uint8")),
    ]
    return _parts(name, plain or _weights(*dims), chosen.quantised, shapes, format)


def fp8(*dims: str | int, name: str, plain: Input | None = None) -> dict[str, Input]:
    """Return inputs `name` (uint8, E4M3) and `name`_scales (first of dims, type of the run).

    A scale maps the largest element of its slice to the largest E4M3 number.
    """
    shapes = [("", tuple(map(str, dims)), dtype("uint8")), ("_scales", (str(dims[0]),), None)]
    return _parts(name, plain or _weights(*dims), _as_fp8, shapes, "fp8")


def _as_fp8(plain: Array) -> Parts:
    most = np.abs(plain).reshape(len(plain), -1).max(-1).astype(np.float32)
    scales = np.where(most == 0, 1, most / np.float32(LARGEST)).astype(np.float32)
    return to_e4m3(plain / scales.reshape(-1, *[1] * (plain.ndim - 1))), scales


def _weights(*dims: str | int) -> Input:
    """Return plain weights without the shifted variation, which leaves few bits of precision."""
    return normal(*dims).only(heavy_tailed(), even(), coarse(), sparse())


def _parts(
    name: str,
    plain: Input,
    quantised: Callable[[Array], Parts],
    shapes: Sequence[tuple[str, tuple[str, ...], DType | None]],
    called: str,
) -> dict[str, Input]:
    whole = _Whole(plain, quantised, len(shapes))
    return {
        f"{name}{suffix}": EncodedPart(
            tuple(parse(each) for each in shape),
            kind,
            distribution=f"{plain.distribution} in {called}",
            draw=plain.draw,
            variations=plain.variations,
            stream=name,
            whole=whole,
            at=at,
        )
        for at, (suffix, shape, kind) in enumerate(shapes)
    }
