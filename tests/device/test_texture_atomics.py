"""Atomic functions of textures."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench import _core

HISTOGRAM = """
kernel void histogram(texture2d<float, access::read> image, texture1d<uint, access::read_write> bins,
                      uint2 p [[thread_position_in_grid]]) {
  if (p.x < image.get_width()) bins.atomic_fetch_add(uint(image.read(p).x * 255 + 0.5f), uint4(1));
}
"""


@pytest.mark.parametrize("checked", [False, True])
def test_a_histogram(device, compile_kernel, checked):
    image = np.random.default_rng(0).integers(0, 256, (33, 50), np.uint8)
    bins = np.zeros(256, np.uint32)
    textures = {"image": device.texture(image), "bins": device.texture(bins, kind="1d")}
    pipeline = compile_kernel(HISTOGRAM, checked=checked)
    device.run([_core.Dispatch(pipeline, textures, threads_in_grid=(64, 33), threads=(32, 4))])
    np.testing.assert_array_equal(bins, np.bincount(image.ravel(), minlength=256))


@pytest.mark.parametrize("type", ["uint", "int"])
def test_each_function_returns_the_previous_value(device, compile_kernel, type):
    pipeline = compile_kernel(
        f"""
        kernel void f(texture2d<{type}, access::read_write> t, device {type}* before, device bool* done) {{
          uint2 p = uint2(1, 0);
          before[0] = t.atomic_fetch_add(p, 5).x;
          before[1] = t.atomic_fetch_sub(p, 1).x;
          before[2] = t.atomic_fetch_or(p, 3).x;
          before[3] = t.atomic_fetch_and(p, 6).x;
          before[4] = t.atomic_fetch_xor(p, 1).x;
          before[5] = t.atomic_fetch_min(p, 2).x;
          before[6] = t.atomic_fetch_max(p, 9).x;
          before[7] = t.atomic_exchange(p, 20).x;
          {type}4 expected = 7;
          done[0] = t.atomic_compare_exchange_weak(p, &expected, 1);
          before[8] = expected.x;
          done[1] = t.atomic_compare_exchange_weak(p, &expected, 30);
          before[9] = t.atomic_load(p).x;
          t.atomic_store(40, p);
          before[10] = t.atomic_fetch_add(uint2(2, 0), 1).x;
        }}
        """
    )
    dtype = {"uint": np.uint32, "int": np.int32}[type]
    texels, before = np.array([[0, 10]], dtype), np.ones(11, dtype)
    done = np.zeros(2, bool)
    arguments = {"t": device.texture(texels), "before": before, "done": done}
    device.run([_core.Dispatch(pipeline, arguments, threads_in_grid=1, threads=1)])
    assert list(before) == [10, 15, 14, 15, 6, 7, 2, 9, 20, 30, 0]
    assert list(done) == [False, True]
    assert texels.tolist() == [[0, 40]]


def test_other_elements_have_no_atomic_functions(compile_kernel):
    source = "kernel void f(texture2d<float, access::read_write> t) {\nt.atomic_load(uint2(0)); }"
    message = r"test\.metal:4:\d+: error: atomic functions are those of textures of int or uint"
    with pytest.raises(_core.CompileError, match=message):
        compile_kernel(source)


@pytest.mark.parametrize("checked", [False, True])
def test_faces_of_cubes(device, compile_kernel, checked):
    pipeline = compile_kernel(
        """
        kernel void f(texturecube<uint, access::read_write> one,
                      texturecube_array<int, access::read_write> more, device int* before,
                      uint i [[thread_position_in_grid]]) {
          one.atomic_fetch_add(uint2(1, 0), i % 6, uint4(i));
          more.atomic_fetch_max(uint2(0, 1), i % 6, i / 6, int4(i));
          one.atomic_store(uint4(7), uint2(0, 0), 6);
          if (i == 0) {
            before[0] = one.atomic_exchange(uint2(0, 1), 5, uint4(9)).x;
            before[1] = one.atomic_load(uint2(0, 1), 5).x;
            int4 expected = 1;
            before[2] = more.atomic_compare_exchange_weak(uint2(1, 1), 3, 1, &expected, int4(20));
          }
        }
        """,
        checked=checked,
    )
    one, more = np.ones((6, 2, 2), np.uint32), np.ones((12, 2, 2), np.int32)
    before = np.zeros(3, np.int32)
    arguments = {"one": device.texture(one, kind="cube"), "before": before}
    arguments["more"] = device.texture(more, kind="cube_array")
    device.run([_core.Dispatch(pipeline, arguments, threads_in_grid=12, threads=12)])
    assert before.tolist() == [1, 9, 1]
    assert one[:, 0, 1].tolist() == [1 + 2 * face + 6 for face in range(6)]
    assert one[5, 1, 0] == 9
    assert more[:, 1, 0].tolist() == [max(1, i) for i in range(12)]
    assert more[9, 1, 1] == 20
    assert (one[:, 0, 0] == 1).all()
