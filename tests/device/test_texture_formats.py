"""Formats whose texels are not a number for each component: sRGB colours, and packed ones."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench import _core

COPY = """
kernel void f(texture2d<{type}, access::read> from, texture2d<{type}, access::write> to,
              device {type}4* out, device const {type}4* values, texture2d<{type}, access::write> made,
              uint i [[thread_position_in_grid]]) {{
  out[i] = from.read(uint2(i, 0));
  to.write(out[i], uint2(i, 0));
  made.write(values[i], uint2(i, 0));
}}
"""
# Fields of red, green, blue and alpha: where each begins, and its bits.
FIELDS = {
    "b5g6r5unorm": (np.uint16, [(11, 5), (5, 6), (0, 5)]),
    "a1bgr5unorm": (np.uint16, [(11, 5), (6, 5), (1, 5), (0, 1)]),
    "abgr4unorm": (np.uint16, [(12, 4), (8, 4), (4, 4), (0, 4)]),
    "bgr5a1unorm": (np.uint16, [(10, 5), (5, 5), (0, 5), (15, 1)]),
    "rgb10a2unorm": (np.uint32, [(0, 10), (10, 10), (20, 10), (30, 2)]),
    "bgr10a2unorm": (np.uint32, [(20, 10), (10, 10), (0, 10), (30, 2)]),
    "rgb10a2uint": (np.uint32, [(0, 10), (10, 10), (20, 10), (30, 2)]),
}


@pytest.fixture(params=[False, True], ids=["", "checked"])
def through(request, device, compile_kernel):
    """Return texels as read, as written back, and as written from given values."""

    def through(texels, values, format, type="float"):
        pipeline = compile_kernel(COPY.format(type=type), checked=request.param)
        count = texels.shape[1]
        out = np.zeros((count, 4), np.uint32 if type == "uint" else np.float32)
        textures = {
            name: device.texture(array, format)
            for name, array in (
                ("from", texels),
                ("to", np.zeros_like(texels)),
                ("made", np.zeros_like(texels)),
            )
        }
        arguments = textures | {"out": out, "values": values.astype(out.dtype)}
        device.run([_core.Dispatch(pipeline, arguments, threads_in_grid=count, threads=32)])
        return out, textures["to"].numpy(), textures["made"].numpy()

    return through


def random_values(count, most=1.0):
    values = np.random.default_rng(1).uniform(-0.2 * most, 1.2 * most, (count, 4))
    values[:4] = [[0, 0, 0, 0], [most] * 4, [np.nan] * 4, [np.inf, -np.inf, 0.5 * most, most]]
    return values


@pytest.mark.parametrize("format", FIELDS)
def test_packed_integers(through, format):
    dtype, fields = FIELDS[format]
    texels = np.random.default_rng(0).integers(0, np.iinfo(dtype).max, (1, 96), dtype, True)
    whole = format.endswith("uint")
    values = random_values(96, 4 if whole else 1)
    values = np.floor(np.abs(np.nan_to_num(values, posinf=2000, neginf=0))) if whole else values
    read, copied, made = through(texels, values, format, "uint" if whole else "float")
    np.testing.assert_array_equal(copied, texels)
    expected = np.ones((96, 4))
    stored = np.zeros(96, np.int64)
    for place, (shift, bits) in enumerate(fields):
        most = 2**bits - 1
        expected[:, place] = (texels[0].astype(np.int64) >> shift & most) / (1 if whole else most)
        limited = np.clip(np.nan_to_num(values[:, place], posinf=2e9), 0, most if whole else 1)
        stored |= np.rint(limited.astype(np.float32) * (1 if whole else most)).astype(int) << shift
    np.testing.assert_allclose(read, expected, rtol=1e-6)
    np.testing.assert_array_equal(made[0], stored)


def decoded(c):
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def encoded(c):
    c = np.clip(np.nan_to_num(c), 0, 1)
    return np.where(c <= 0.0031308, c * 12.92, 1.055 * c ** (1 / 2.4) - 0.055)


@pytest.mark.parametrize(
    ("format", "channels"),
    [("r8unorm_srgb", 1), ("rg8unorm_srgb", 2), ("rgba8unorm_srgb", 4), ("bgra8unorm_srgb", 4)],
)
def test_srgb(through, format, channels):
    one = np.arange(256, dtype=np.uint8)
    texels = np.stack([one, one[::-1], np.roll(one, 7), np.roll(one, 100)], -1)[None, :, :channels]
    texels = np.ascontiguousarray(texels if channels > 1 else texels[..., 0])
    values = random_values(256)
    read, copied, made = through(texels, values, format)
    np.testing.assert_array_equal(copied, texels)
    order = [2, 1, 0, 3] if format.startswith("b") else range(channels)
    shaped = texels.reshape(256, channels)[:, order] / 255
    expected = np.concatenate([shaped, np.zeros((256, 4 - channels))], 1)
    expected[:, :3] = decoded(expected[:, :3])
    expected[:, 3] = expected[:, 3] if channels == 4 else 1
    np.testing.assert_allclose(read, expected, rtol=2e-6, atol=1e-7)
    colours = np.concatenate(
        [encoded(values[:, :3]), np.clip(np.nan_to_num(values[:, 3:]), 0, 1)], 1
    )
    stored = colours[:, order] * 255
    error = np.abs(made.reshape(256, channels) - stored)
    assert error.max() <= 0.501


@pytest.mark.parametrize("format", ["rg11b10float", "rgb9e5float"])
def test_packed_floats(through, format):
    texels = np.random.default_rng(0).integers(0, 2**32, (1, 96), np.uint32)
    if format == "rg11b10float":
        texels &= ~np.uint32(1 << 10 | 1 << 21 | 1 << 31)  # neither infinite nor NaN
    else:
        texels |= np.uint32(1 << 26)  # as the shared exponent is written
    values = random_values(96, 300)
    values[4:40] *= np.logspace(-9, 2, 36)[:, None]
    values[2] = 0
    read, copied, made = through(texels, values, format)
    np.testing.assert_array_equal(copied, texels)
    raw = texels[0].astype(np.int64)
    if format == "rg11b10float":
        small = [(raw & 2047, 6), (raw >> 11 & 2047, 6), (raw >> 22, 5)]
        expected = [(bits << (10 - m)).astype(np.uint16).view(np.float16) for bits, m in small]
    else:
        scale = 2.0 ** ((raw >> 27) - 24)
        expected = [(raw >> shift & 511) * scale for shift in (0, 9, 18)]
    np.testing.assert_array_equal(read[:, :3], np.stack(expected, -1).astype(np.float32))
    np.testing.assert_array_equal(read[:, 3], 1)
    again = through(np.ascontiguousarray(made), values, format)[0][:, :3]
    limited = np.clip(values[:, :3], 0, None)
    if format == "rg11b10float":
        limits = np.array([65024, 65024, 64512])
        step = np.maximum(limited, 2.0**-14) * 2.0 ** -np.array([7, 7, 6])
        finite = np.isfinite(limited)
        assert (np.abs(again - np.minimum(limited, limits))[finite] <= 1.01 * step[finite]).all()
        assert np.isinf(again[~finite]).all()
    else:
        limited = np.minimum(limited, 65408)
        step = np.maximum(limited.max(1, keepdims=True) / 256, 2.0**-24)
        assert (np.abs(again - limited) <= 0.501 * step).all()


def test_a_packed_format_takes_one_integer_for_each_texel(device):
    with pytest.raises(
        _core.DispatchError, match="expected 1 components of uint32, got 4 of uint8"
    ):
        device.texture(np.zeros((2, 2, 4), np.uint8), "rgb10a2unorm")
    with pytest.raises(_core.DispatchError, match=r"b5g6r5unorm.*got rb5g6r5unorm"):
        device.texture(np.zeros((2, 2), np.uint16), "rb5g6r5unorm")


def test_a_packed_format_is_not_a_depth_format(device, compile_kernel):
    pipeline = compile_kernel(
        "kernel void f(depth2d<float> t, device float* y) { *y = t.read(uint2(0)); }"
    )
    texture = device.texture(np.zeros((2, 2), np.uint32), "rgb10a2unorm")
    assert texture.format == "rgb10a2unorm"
    with pytest.raises(_core.DispatchError, match="of one component"):
        _core.Dispatch(
            pipeline, {"t": texture, "y": np.zeros(1, np.float32)}, threads_in_grid=1, threads=1
        )
