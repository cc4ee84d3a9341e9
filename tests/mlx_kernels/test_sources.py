"""The families that MLX keeps in .metal files, which its wheel leaves out.

They need a checkout of MLX, which METALBENCH_MLX_SOURCE names.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import mlx.core as mx
import numpy as np
import pytest
from mlx_kernels.bench import Argument, compare, ints, longs, random, zeros
from mlx_kernels.family import FLOATS, of

from metalbench import _core

FOLDER = Path("mlx/backend/metal/kernels")
NAMES = {"float": "float32", "half": "float16", "bfloat16_t": "bfloat16"}


@pytest.fixture(scope="module")
def checkout() -> Path:
    named = os.environ.get("METALBENCH_MLX_SOURCE")
    if not named:
        pytest.skip("MLX's wheel has no headers of these; METALBENCH_MLX_SOURCE names no checkout")
    return Path(named).resolve()


def library(device: _core.Device, checkout: Path, file: str) -> _core.Library:
    path = checkout / FOLDER / f"{file}.metal"
    return device.compile(
        path.read_text(), filename=str(path), include_dirs=[str(checkout)], fast_math=False
    )


def run(
    device: _core.Device,
    pipeline: _core.Pipeline,
    arguments: Sequence[Argument],
    grid: tuple[int, int, int],
    threads: tuple[int, int, int],
) -> None:
    names = [argument.name for argument in pipeline.arguments]
    bound = dict(zip(names, arguments, strict=True))
    device.run([_core.Dispatch(pipeline, bound, threads_in_grid=grid, threads=threads)])


def wide(x: np.ndarray) -> mx.array:
    return mx.array(x.astype(np.float32))


@pytest.mark.parametrize("kind", FLOATS)
def test_arg_reduce(device: _core.Device, checkout: Path, kind: str):
    x, out = random((7, 333), kind), zeros(7, "uint32_t")
    pipeline = library(device, checkout, "arg_reduce").pipeline(f"argmax_{NAMES[kind]}")
    arguments = [x, out, ints(7), longs(333), longs(1), np.uint64(1), np.int64(1), np.uint64(333)]
    run(device, pipeline, arguments, (96, 7, 1), (96, 1, 1))
    np.testing.assert_array_equal(out, np.array(mx.argmax(wide(x), axis=1)))


@pytest.mark.parametrize("kind", FLOATS)
def test_layer_norm(device: _core.Device, checkout: Path, kind: str):
    x, w, b = (random(shape, kind, seed) for seed, shape in enumerate(((5, 1024), 1024, 1024)))
    out = zeros(x.shape, kind)
    pipeline = library(device, checkout, "layer_norm").pipeline(f"layer_norm{NAMES[kind]}")
    sizes = [np.float32(1e-5), np.uint32(1024), np.uint32(1), np.uint32(1)]
    run(device, pipeline, [x, w, b, out, *sizes], (640, 1, 1), (128, 1, 1))
    want = np.array(mx.fast.layer_norm(wide(x), wide(w), wide(b), 1e-5))
    assert compare(of("layer_norm", kind), out, want, kind, 32).passed


@pytest.mark.parametrize("kind", FLOATS)
def test_rms_norm(device: _core.Device, checkout: Path, kind: str):
    x, w, out = random((5, 1024), kind), random(1024, kind, 1), zeros((5, 1024), kind)
    pipeline = library(device, checkout, "rms_norm").pipeline(f"rms{NAMES[kind]}")
    sizes = [np.float32(1e-5), np.uint32(1024), np.uint32(1)]
    run(device, pipeline, [x, w, out, *sizes], (1280, 1, 1), (256, 1, 1))
    want = np.array(mx.fast.rms_norm(wide(x), wide(w), 1e-5))
    assert compare(of("rms", kind), out, want, kind, 32).passed


@pytest.mark.parametrize("kind", FLOATS)
def test_rope(device: _core.Device, checkout: Path, kind: str):
    x, out = random((2, 4, 6, 64), kind), zeros((2, 4, 6, 64), kind)
    constants = {1: True, 2: False, 3: False}
    pipeline = library(device, checkout, "rope").pipeline(
        f"rope_{NAMES[kind]}", constants=constants
    )
    strides = longs(6 * 64, 64, 1)
    arguments = [x, out, ints(3), np.float32(1), strides, strides, np.int64(0), np.int32(4)]
    arguments.append(np.float32(np.log2(10000)))
    run(device, pipeline, arguments, (32, 6, 2), (32, 6, 1))
    want = mx.fast.rope(wide(x), 64, traditional=False, base=10000.0, scale=1.0, offset=3)
    assert compare(of("rope", kind), out, np.array(want), kind, 16).passed


def test_random(device: _core.Device, checkout: Path):
    key, out = np.array([11, 22], np.uint32), np.zeros((5, 2), np.uint32)
    pipeline = library(device, checkout, "random").pipeline("rbitsc")
    run(device, pipeline, [key, out, np.bool_(False), np.uint64(40)], (1, 5, 1), (1, 5, 1))
    np.testing.assert_array_equal(out, np.array(mx.random.split(mx.array(key), 5)))
