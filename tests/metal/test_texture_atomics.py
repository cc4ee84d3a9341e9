"""Textures that kernels write to, on GPUs with and without atomic operations on texels."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from metalbench import _core

pytestmark = [pytest.mark.metal, pytest.mark.usefixtures("metal_double")]

SOURCE = """
#include <metal_stdlib>
using namespace metal;
kernel void fill(texture2d<uint, access::write> t, uint2 i [[thread_position_in_grid]]) {
  t.write(uint4(7), i);
}
"""


# The double refuses a texture whose usage its GPU does not have.
@pytest.mark.parametrize("family", [5, 6, 7, 8, 9])
@pytest.mark.parametrize("shape", [(2, 4), (2, 4, 2), (2, 4, 4)])
@pytest.mark.parametrize("kind", ["2d", "buffer"])
def test_textures_of_integers_are_written_on_every_gpu(metal_double, family, shape, kind) -> None:
    gc.collect()
    metal_double.set("gpu_family", family)
    metal = _core.open("metal")
    assert metal.capabilities["family"] == f"apple{family}"
    source, grid = SOURCE, (4, 2)
    if kind == "buffer":
        source = SOURCE.replace("texture2d", "texture_buffer").replace("uint2 i", "uint i")
        shape, grid = shape[1:], (4, 1)
    texels = np.zeros(shape, np.uint32)
    arguments = {"t": metal.texture(texels, kind=kind)}
    pipeline = metal.compile(source).pipeline()
    metal.run([_core.Dispatch(pipeline, arguments, threads_in_grid=grid, threads=(4, 1))])
    assert (texels == 7).all()
