"""Floats as sums of numbers that tensor cores know, by the code that GPUs run."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest

from metalbench.msl.toolchain.clang import COMMON_FLAGS, find_toolchain

SOURCE = """
#include <mb/prelude.h>
#include <mb/gpu/tensor_cores.h>
extern "C" __attribute__((visibility("default"))) void parts(const float* x, unsigned* high,
                                                             unsigned* low, long count) {
  for (long i = 0; i < count; ++i) {
    const mb::Parts found = mb::parts_of(x[i]);
    high[i] = found.high;
    low[i] = found.low;
  }
}
"""
SHIM = Path(__file__).resolve().parents[1] / "cuda_double" / "shim.h"
TAKEN = np.uint32(0xFFFFE000)  # what an instruction sees of a word
LARGEST = np.finfo(np.float32).max


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """Return both parts of floats as tensor cores see them."""
    tools, folder = find_toolchain(), tmp_path_factory.mktemp("parts")
    made, built = folder / "parts.o", folder / "parts.so"
    compile_ = [
        *tools.clang,
        "-x",
        "c++",
        *COMMON_FLAGS,
        *tools.target.compiler,
        "-DMB_GPU=1",
        "-O1",
    ]
    compile_ += [f"-I{tools.headers}", "-include", str(SHIM), "-c", "-", "-o", str(made)]
    subprocess.run(compile_, input=SOURCE, text=True, check=True)
    subprocess.run([*tools.linker, "-shared", "-o", str(built), str(made)], check=True)
    library = ctypes.CDLL(str(built))

    def found(values):
        x = np.ascontiguousarray(values, np.float32)
        high, low = np.empty(x.shape, np.uint32), np.empty(x.shape, np.uint32)
        pointers = (each.ctypes.data_as(ctypes.c_void_p) for each in (x, high, low))
        library.parts(*pointers, ctypes.c_long(x.size))
        return (high & TAKEN).view(np.float32), (low & TAKEN).view(np.float32)

    return found


def drawn(count=200_000):
    random = np.random.default_rng(3)
    return np.ldexp(random.uniform(-2, 2, count), random.integers(-90, 120, count)).astype(
        np.float32
    )


def test_parts_sum_to_nearly_the_float(parts):
    x = drawn()
    high, low = parts(x)
    assert np.all(abs(x - high) <= abs(x) * 2.0**-11)
    off = abs((high.astype(np.float64) + low) - x) / abs(x)
    assert off.max() <= 2.0**-23
    assert off.max() > 2.0**-25  # two numbers of 11 bits are less than one of 24


def test_parts_has_no_low_part_for_tf32_values(parts):
    x = (drawn().view(np.uint32) & TAKEN).view(np.float32)
    high, low = parts(x)
    np.testing.assert_array_equal(high, x)
    assert not low.any()


def test_products_of_parts_are_nearly_those_of_floats(parts):
    x, y = (np.random.default_rng(at).normal(size=200_000).astype(np.float32) for at in (1, 2))
    (a, b), (c, d) = ([each.astype(np.float64) for each in parts(of)] for of in (x, y))
    exact = x.astype(np.float64) * y
    off = abs((a * d + b * c + a * c - exact) / exact)
    assert np.sqrt((off**2).mean()) <= 2.0**-23
    assert off.max() <= 2.0**-21


@pytest.mark.parametrize("value", [np.inf, -np.inf, 0.0, -0.0])
def test_special_values_are_high_parts(parts, value):
    high, low = parts([value])
    assert high.tobytes() == np.float32(value).tobytes()
    assert not low.any()


def test_no_number_stays_none(parts):
    high, low = parts([np.nan, -np.nan])
    assert np.isnan(high).all()
    assert not low.any()


def test_the_largest_numbers_do_not_become_infinite(parts):
    x = np.array([LARGEST, -LARGEST, LARGEST * (1 - 2.0**-12)], np.float32)
    high, _ = parts(x)
    assert np.all(abs(high - x) <= abs(x) * 2.0**-10)
