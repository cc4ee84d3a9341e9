"""Image kernels as they are written for Metal: a tiled blur, a resize, a tone curve."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench import _core

BLUR = """
constant float weights[5] = {1.0f / 16, 4.0f / 16, 6.0f / 16, 4.0f / 16, 1.0f / 16};

kernel void blur_rows(texture2d<float, access::read> source [[texture(0)]],
                      texture2d<float, access::write> target [[texture(1)]],
                      uint2 gid [[thread_position_in_grid]], uint2 tid [[thread_position_in_threadgroup]],
                      uint2 group [[threadgroup_position_in_grid]]) {
  threadgroup float4 tile[8][36];
  const int width = source.get_width(), height = source.get_height();
  for (int x = tid.x; x < 36; x += 32) {
    const int column = clamp(int(group.x) * 32 + x - 2, 0, width - 1);
    tile[tid.y][x] = source.read(uint2(column, min(int(gid.y), height - 1)));
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float4 sum = 0;
  for (int k = 0; k < 5; k++) sum += weights[k] * tile[tid.y][tid.x + k];
  target.write(sum, gid);
}
"""


@pytest.mark.parametrize("checked", [False, True])
def test_a_blur_through_threadgroup_memory(device, compile_kernel, checked):
    image = np.random.default_rng(0).integers(0, 256, (21, 75, 4), np.uint8)
    out = np.zeros_like(image)
    arguments = {"source": device.texture(image), "target": device.texture(out)}
    pipeline = compile_kernel(BLUR, checked=checked)
    # Whole threadgroups: those at the edge write outside of the image, which is dropped.
    device.run([_core.Dispatch(pipeline, arguments, threadgroups=(3, 3), threads=(32, 8))])
    padded = np.pad(image.astype(np.float64), ((0, 0), (2, 2), (0, 0)), "edge")
    weights = np.array([1, 4, 6, 4, 1]) / 16
    exact = sum(w * padded[:, k : k + 75] for k, w in enumerate(weights))
    assert np.abs(out - exact).max() <= 0.5 + 1e-4


RESIZE = """
kernel void resize(texture2d<half, access::sample> source [[texture(0)]],
                   texture2d<half, access::write> target [[texture(1)]],
                   uint2 gid [[thread_position_in_grid]]) {
  if (gid.x >= target.get_width() || gid.y >= target.get_height()) return;
  constexpr sampler bilinear(coord::normalized, address::clamp_to_edge, filter::linear);
  const float2 size = float2(target.get_width(), target.get_height());
  target.write(source.sample(bilinear, (float2(gid) + 0.5f) / size), gid);
}
"""


def test_a_bilinear_resize(device, compile_kernel):
    image = np.random.default_rng(0).random((12, 20, 4)).astype(np.float16)
    out = np.zeros((30, 33, 4), np.float16)
    arguments = {"source": device.texture(image), "target": device.texture(out)}
    device.run(
        [
            _core.Dispatch(
                compile_kernel(RESIZE), arguments, threads_in_grid=(64, 32), threads=(16, 16)
            )
        ]
    )

    def mix(texels, size):
        """The last axis resized to `size`."""
        p = (np.arange(size) + 0.5) / size * texels.shape[-1] - 0.5
        first = np.floor(p).astype(int)
        low, high = (np.clip(first + k, 0, texels.shape[-1] - 1) for k in (0, 1))
        return texels[..., low] * (1 - (p - first)) + texels[..., high] * (p - first)

    planes = image.astype(np.float64).transpose(2, 0, 1)
    expected = mix(mix(planes, 33).transpose(0, 2, 1), 30).transpose(2, 1, 0)
    # One rounding to half of a value below 1, and weights from float32.
    np.testing.assert_allclose(out.astype(np.float64), expected, rtol=0, atol=2.0**-12 + 1e-5)


CURVE = """
kernel void curve(texture2d<float> image, texture1d<float> table, texture2d<float, access::write> target,
                  sampler smooth, uint2 gid [[thread_position_in_grid]]) {
  float3 color = image.read(gid).bgr;
  target.write(float4(table.sample(smooth, color.x).r, table.sample(smooth, color.y).r,
                      table.sample(smooth, color.z).r, 1.0), gid);
}
"""


def test_a_tone_curve_from_a_table(device, compile_kernel):
    image = np.random.default_rng(0).integers(0, 256, (9, 14, 4), np.uint8)
    table = (np.linspace(0, 1, 33) ** 2.2).astype(np.float32)
    out = np.zeros((9, 14, 4), np.float32)
    textures = {
        "image": device.texture(image, "bgra8unorm"),
        "table": device.texture(table, kind="1d"),
        "target": device.texture(out),
    }
    arguments = {**textures, "smooth": _core.Sampler("linear")}
    device.run(
        [_core.Dispatch(compile_kernel(CURVE), arguments, threads_in_grid=(14, 9), threads=(8, 8))]
    )
    # bgra in memory, read as rgba, taken as .bgr: the order in memory again.
    places = (np.arange(33) + 0.5) / 33
    expected = np.interp(image[..., :3] / 255, places, table.astype(np.float64))
    np.testing.assert_allclose(out[..., :3], expected, rtol=0, atol=1e-5)
    assert (out[..., 3] == 1).all()
