"""Textures: every format and shape, read and written, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench import _core

DTYPES = {
    "8unorm": np.uint8,
    "8snorm": np.int8,
    "8uint": np.uint8,
    "8sint": np.int8,
    "16unorm": np.uint16,
    "16snorm": np.int16,
    "16uint": np.uint16,
    "16sint": np.int16,
    "16float": np.float16,
    "32uint": np.uint32,
    "32sint": np.int32,
    "32float": np.float32,
}
CHANNELS = {"r": 1, "rg": 2, "rgba": 4}
FORMATS = [prefix + channel for prefix in CHANNELS for channel in DTYPES]
FORMATS += ["bgra8unorm", "depth16unorm", "depth32float"]
# What a texture of each element type may be, for types narrower than 32 bits as well.
ELEMENTS = {
    "float": ("unorm", "snorm", "float"),
    "half": ("unorm", "snorm", "float"),
    "uint": ("uint",),
    "ushort": ("uint",),
    "int": ("sint",),
    "short": ("sint",),
}
NUMPY = {
    "float": np.float32,
    "half": np.float16,
    "uint": np.uint32,
    "ushort": np.uint16,
    "int": np.int32,
    "short": np.int16,
}


def split(name: str) -> tuple[int, str]:
    """Components and channel of a format."""
    digits = next(index for index, letter in enumerate(name) if letter.isdigit())
    return {"bgra": 4, "depth": 1, **CHANNELS}[name[:digits]], name[digits:]


def element_of(name: str) -> str:
    return next(e for e, kinds in ELEMENTS.items() if split(name)[1].lstrip("0123456789") in kinds)


def random_texels(name: str, shape: tuple[int, ...], seed: int = 1) -> np.ndarray:
    components, channel = split(name)
    dtype = np.dtype(DTYPES[channel])
    shape = (*shape, components) if components > 1 else shape
    random = np.random.default_rng(seed)
    if dtype.kind == "f":
        return random.normal(size=shape).astype(dtype)
    limits = np.iinfo(dtype)
    texels = random.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    texels.flat[:2] = limits.min, limits.max
    return texels


def decoded(texels: np.ndarray, name: str) -> np.ndarray:
    """Four components of each texel as a kernel sees them, by Metal's conversion rules."""
    components, channel = split(name)
    values = texels.reshape(*texels.shape, 1) if components == 1 else texels
    values = values.astype(np.float64 if "norm" in channel or "float" in channel else np.int64)
    if "norm" in channel:
        values = np.maximum(values / np.iinfo(DTYPES[channel]).max, -1.0)
    missing = np.zeros((*values.shape[:-1], 4 - components), values.dtype)
    full = np.concatenate([values, missing], -1)
    if components < 4:
        full[..., 3] = 1
    return full[..., [2, 1, 0, 3]] if name.startswith("bgra") else full


def encoded(values: np.ndarray, name: str) -> np.ndarray:
    """The inverse: rounded to nearest even, saturated, NaN as 0."""
    components, channel = split(name)
    if name.startswith("bgra"):
        values = values[..., [2, 1, 0, 3]]
    values = values[..., 0] if components == 1 else values[..., :components]
    dtype = DTYPES[channel]
    if "float" in channel:
        return values.astype(dtype)
    limits = np.iinfo(dtype)
    if "norm" in channel:
        values = np.clip(np.nan_to_num(values), -1.0 if limits.min < 0 else 0.0, 1.0)
        return np.rint(values * limits.max).astype(dtype)
    return np.clip(values, limits.min, limits.max).astype(dtype)


READ = """
kernel void f(texture2d<{T}, access::read> t, device {T}4* out, uint2 p [[thread_position_in_grid]]) {{
  out[p.y * t.get_width() + p.x] = t.read(p);
}}
"""
WRITE = """
kernel void f(texture2d<{T}, access::write> t, device const {T}4* in, uint2 p [[thread_position_in_grid]]) {{
  t.write(in[p.y * t.get_width() + p.x], ushort2(p));
}}
"""


def run(device, pipeline, grid, **arguments):
    device.run([_core.Dispatch(pipeline, arguments, threads_in_grid=grid, threads=(4, 2))])


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_read(device, compile_kernel, name):
    element = element_of(name)
    texels = random_texels(name, (5, 7))
    out = np.zeros((5, 7, 4), NUMPY[element])
    run(
        device,
        compile_kernel(READ.format(T=element)),
        (7, 5),
        t=device.texture(texels, name),
        out=out,
    )
    expected = decoded(texels, name).astype(out.dtype)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("name", [f for f in FORMATS if not f.startswith("depth")])
def test_every_format_is_written(device, compile_kernel, name):
    element = element_of(name)
    random = np.random.default_rng(2)
    if element == "float":
        given = random.uniform(-1.5, 1.5, (5, 7, 4)).astype(np.float32)
        given.flat[:6] = np.nan, 0.5 / 255, 1.5 / 255, np.inf, -np.inf, -0.0
        if "float" in name:
            given.flat[0] = 1
    else:
        limits = np.iinfo(NUMPY[element])
        given = random.integers(limits.min, limits.max, (5, 7, 4), NUMPY[element], endpoint=True)
        given[2:] >>= 24
    texels = random_texels(name, (5, 7), seed=3)
    texture = device.texture(texels, name)
    assert texture.shared
    run(device, compile_kernel(WRITE.format(T=element)), (7, 5), t=texture, **{"in": given})
    np.testing.assert_array_equal(texels, encoded(given, name))


@pytest.mark.parametrize(
    ("element", "name"), [("half", "rgba8unorm"), ("half", "rgba16float"), ("short", "rg8sint"), ("ushort", "rgba16uint")]
)  # fmt: skip
def test_narrow_element_types(device, compile_kernel, element, name):
    texels = random_texels(name, (5, 7))
    out = np.zeros((5, 7, 4), NUMPY[element])
    run(
        device,
        compile_kernel(READ.format(T=element)),
        (7, 5),
        t=device.texture(texels, name),
        out=out,
    )
    np.testing.assert_array_equal(out, decoded(texels, name).astype(np.float32).astype(out.dtype))
    back = np.zeros_like(texels)
    run(
        device,
        compile_kernel(WRITE.format(T=element)),
        (7, 5),
        t=device.texture(back, name),
        **{"in": out},
    )
    np.testing.assert_array_equal(back, texels)


def test_a_texture_shares_memory_if_the_layout_permits(device):
    image = np.zeros((8, 16, 4), np.uint8)
    rows = device.texture(image[2:6])
    assert rows.shared
    assert (rows.width, rows.height, rows.format) == (16, 4, "rgba8unorm")
    rows.numpy()[:] = 7
    assert image[2:6].min() == 7
    assert image.sum() == 7 * 4 * 16 * 4
    flipped = device.texture(image[::-1])
    assert not flipped.shared
    np.testing.assert_array_equal(flipped.numpy(), image[::-1])
    frozen = np.ones((2, 2), np.float32)
    frozen.flags.writeable = False
    assert not device.texture(frozen).shared
