"""Many functions in one kernel, in scalar and vector form, against oracles in wider arithmetic."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from metalbench import _core

TYPES: dict[str, Any] = {
    "float": np.float32,
    "half": np.float16,
    "bfloat": ml_dtypes.bfloat16,
    "bool": np.bool_,
    "char": np.int8,
    "uchar": np.uint8,
    "short": np.int16,
    "ushort": np.uint16,
    "int": np.int32,
    "uint": np.uint32,
    "long": np.int64,
    "ulong": np.uint64,
}
# Digits of the significand and the exponent of the smallest normal number.
FLOATS = ["float", "half", "bfloat"]
INTEGERS = [kind for kind in TYPES if kind not in (*FLOATS, "bool")]
INFOS = {kind: ml_dtypes.finfo(TYPES[kind]) for kind in FLOATS}
FORMATS = {"float": (24, -126), "half": (11, -14), "bfloat": (8, -126)}
# Distance of a vector's components in the inputs.
STEP = 17


@dataclass(frozen=True)
class Call:
    """A function of the inventory: MSL of a, b, c and what it should give.

    In the expression V is the type of a, I and B its shape with elements int and bool.
    `oracle` takes arrays (float64 for floating-point arguments). `ulps` bounds the error.
    """

    name: str
    expression: str
    oracle: Callable[..., np.ndarray]
    ulps: float = 0.5


def run(
    cpu: _core.Device,
    calls: Sequence[Call],
    inputs: Sequence[np.ndarray],
    *,
    kind: str,
    width: int = 1,
    result: str = "",
    **options: Any,
) -> np.ndarray:
    """All calls for all inputs of type `kind`: an array [call, component, input].

    Component j of the vectors at i comes from input i + 17 j; the result is put back in its place.
    """
    result = result or kind
    count = len(inputs[0])
    letters = "abc"[: len(inputs)]
    source = f"""#include <metal_stdlib>
using namespace metal;
using V = {_form(kind, width)};
using I = {_form("int", width)};
using B = {_form("bool", width)};
{"template <class T> auto part(T v, uint j) { return v[j]; }" if width > 1 else ""}
kernel void evaluate({"".join(f"device const {kind}* in_{x}, " for x in letters)}
                     device {result}* out, constant uint& n, uint i [[thread_position_in_grid]]) {{
  {" ".join(_gather(kind, x, width) for x in letters)}
"""
    for slot, call in enumerate(calls):
        source += _scatter(call.expression, slot, width, result)
    # Some calls are in lambda expressions, which Metal has from 3.2 on.
    options = {"macros": {"__METAL_VERSION__": "400"}, **options}
    pipeline = cpu.compile(source + "}\n", **options).pipeline()
    out = np.zeros((len(calls), width, count), TYPES[result])
    arguments: dict[str, Any] = {f"in_{x}": array for x, array in zip(letters, inputs, strict=True)}
    arguments |= {"out": out, "n": np.array([count], np.uint32)}
    dispatch = _core.Dispatch(
        pipeline, arguments, threads_in_grid=(count, 1, 1), threads=(64, 1, 1)
    )
    cpu.run([dispatch])
    return out


def _form(kind: str, width: int) -> str:
    return kind if width == 1 else f"vec<{kind}, {width}>"


def _gather(kind: str, letter: str, width: int) -> str:
    if width == 1:
        return f"const V {letter} = in_{letter}[i];"
    parts = ", ".join(f"in_{letter}[(i + {j * STEP}) % n]" for j in range(width))
    return f"const V {letter} = V({parts});"


def _scatter(expression: str, slot: int, width: int, result: str) -> str:
    if width == 1:
        return f"  out[{slot} * n + i] = {result}({expression});\n"
    stores = "".join(
        f" out[{slot * width + j} * n + (i + {j * STEP}) % n] = {result}(r[{j}]);"
        for j in range(width)
    )
    return f"  {{ auto r = {expression};{stores} }}\n"


def ulps(got: np.ndarray, want: np.ndarray, kind: str) -> np.ndarray:
    """Distance in units in the last place; 0 for two equal infinities and for two NaN."""
    digits, smallest = FORMATS[kind]
    with np.errstate(all="ignore"):
        nearest = want.astype(np.float32).astype(TYPES[kind]).astype(np.float64)
        got = got.astype(np.float64)
        exponent = np.maximum(np.frexp(want)[1] - 1, smallest)
        error = np.abs(got - want) / np.ldexp(1.0, exponent - digits + 1)
    same = (got == nearest) | (np.isnan(got) & np.isnan(nearest))
    # Processors that convert to bfloat themselves flush what is subnormal.
    same |= (kind == "bfloat") & (got == 0) & (np.abs(want) < 2.0**smallest)
    return np.where(same, 0.0, np.where(np.isnan(error), np.inf, error))


def worst(
    call: Call, got: np.ndarray, inputs: Sequence[np.ndarray], kind: str, bound: float
) -> float:
    """The largest error of a call in all its components; AssertionError names where it is."""
    with np.errstate(all="ignore"):
        want = call.oracle(*(array.astype(np.float64) for array in inputs))
    error = ulps(got, np.broadcast_to(want, got.shape), kind)
    component, index = np.unravel_index(np.argmax(error), error.shape)
    arguments = ", ".join(str(array[index]) for array in inputs)
    assert error.max() <= bound + 1e-3, (
        f"{call.name} ({kind}, component {component} of {len(got)}): of {arguments}: "
        f"got {got[component, index]!r}, expected {want[index]!r}, {error.max():.3g} ulp"
    )
    return float(error.max())


def edges(kind: str) -> np.ndarray:
    """Zeros, ones, infinities, NaN, the ends of the normal and subnormal numbers, powers of two."""
    digits, smallest = FORMATS[kind]
    tiny = 2.0 ** (smallest - digits + 1)
    largest = float(ml_dtypes.finfo(TYPES[kind]).max)
    some = [
        0,
        1,
        0.5,
        2,
        3,
        10,
        np.inf,
        largest,
        2.0**smallest,
        tiny,
        3 * tiny,
        1 + 2.0 ** (1 - digits),
    ]
    powers = [2.0**n for n in range(-12, 13, 3)]
    values = np.array([*some, *powers, np.pi, np.pi / 2, 1 - 2.0**-digits])
    return np.concatenate([values, -values, [np.nan]]).astype(TYPES[kind])


def samples(kind: str, count: int, seed: int = 1) -> np.ndarray:
    """Edges, then numbers of every magnitude and many near one, in random order.

    There are no signalling NaNs: `fmax` of one and a number is NaN on aarch64, but the number on
    x86-64. What Metal returns is unknown.
    """
    generator = np.random.default_rng(seed)
    bits = generator.integers(0, 1 << (32 if kind == "float" else 16), count // 4, dtype=np.uint64)
    unsigned = np.uint32 if kind == "float" else np.uint16
    numbers = bits.astype(unsigned).view(TYPES[kind])
    parts = [
        edges(kind),
        np.where(np.isnan(numbers), TYPES[kind](np.nan), numbers),
        generator.uniform(-1, 1, count // 4).astype(TYPES[kind]),
        (1 + generator.uniform(-0.5, 1, count // 8)).astype(TYPES[kind]),
        generator.uniform(-100, 100, count).astype(TYPES[kind]),
    ]
    return generator.permutation(np.concatenate(parts)[:count])


def integers(kind: str, count: int, seed: int = 1) -> np.ndarray:
    """Both ends, small numbers and ones of every length, in random order."""
    dtype = np.dtype(TYPES[kind])
    ends = np.iinfo(dtype)
    generator = np.random.default_rng(seed)
    bits = generator.integers(0, ends.bits + 1, count)
    values = [int(generator.integers(0, 1 << 62)) & ((1 << int(n)) - 1) for n in bits]
    values[:6] = [0, 1, 2, ends.max, ends.max - 1, ends.min % (1 << ends.bits)]
    unsigned = np.array([value % (1 << ends.bits) for value in values], f"u{dtype.itemsize}")
    signs = np.where(generator.random(count) < 0.5, -1, 1).astype(np.int64)
    flipped = unsigned * signs.astype(unsigned.dtype)
    return generator.permutation(flipped.astype(unsigned.dtype).view(dtype))


def snake(name: str) -> str:
    """A name without what a test's id must not have."""
    return re.sub(r"\W+", "_", name)
