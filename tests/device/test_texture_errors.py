"""Errors of textures that do not fit the array, the binding or the declared access."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench import _core

F = np.float32


@pytest.mark.parametrize(
    ("array", "options", "message"),
    [
        (np.zeros((3, 3, 3), F), {}, "expected 1, 2 or 4 components in the last axis, got 3; add a fourth"),
        (np.zeros(3, F), {}, r"kind 2d: expected 2 axes, or one more for components, got shape \(3,\)"),
        (np.zeros((3, 3)), {}, "got float64"),
        (np.zeros((0, 3), F), {}, "expected at least one texel"),
        (np.zeros((3, 3), F), {"format": "r32int"}, "or one of bgra8unorm, .*; got r32int"),
        (np.zeros((3, 3), F), {"format": "rg32float"}, "expected 2 components of float32, got 1 of float32"),
        (np.zeros((3, 3), F), {"format": "r16float"}, "expected 1 components of float16, got 1 of float32"),
        (np.zeros((3, 3), F), {"kind": "4d"}, "kind: expected one of 1d, .*got 4d"),
        (np.zeros((5, 3, 3), F), {"kind": "cube"}, "expected square faces, six for each cube"),
        ([np.zeros((4, 4), F), np.zeros((3, 3), F)], {}, r"level 1: expected size \(2, 2, 1\), got \(3, 3, 1\)"),
        ([np.zeros((4, 4), F), np.zeros((2, 2), np.uint8)], {}, "levels of one format, got r32float and r8unorm"),
        ([], {}, "at least one level"),
        ("image", {}, "expected a NumPy array"),
    ],
)  # fmt: skip
def test_texture_refuses_invalid_arguments(device, array, options, message):
    with pytest.raises(_core.DispatchError, match=message):
        device.texture(array, **options)


BINDINGS = """
kernel void f(texture2d<float> t, texture2d<uint> u, depth2d<float> z, sampler s, array<texture1d<half>, 2> l, device float4* o) {
  o[0] = t.sample(s, float2(0)) + float4(u.read(uint2(0))) + z.read(uint2(0)) + float4(l[0].read(0));
}
"""


def test_wrong_bindings_are_explained(device, compile_kernel):
    pipeline = compile_kernel(BINDINGS)
    flat, line = device.texture(np.zeros((2, 2, 4), F)), device.texture(np.zeros(4, F), kind="1d")
    whole = device.texture(np.zeros((2, 2), np.uint32))
    right = {"t": flat, "u": whole, "z": device.texture(np.zeros((2, 2), F)), "s": _core.Sampler()}
    right |= {"l": [line, line], "o": np.zeros((4, 4), F)}
    _core.Dispatch(pipeline, right, threads_in_grid=1, threads=1)
    for change, message in [
        ({"t": right["o"]}, r"t: expected a texture for texture2d<float>, got ndarray; make one with Device.texture"),
        ({"t": whole}, "t: expected a floating-point format for texture2d<float>, got r32uint"),
        ({"t": line}, "t: expected a texture of kind 2d for texture2d<float>, got 1d"),
        ({"u": flat}, "u: expected an unsigned integer format for texture2d<uint>, got rgba32float"),
        ({"z": flat}, "z: expected a floating-point format of one component for depth2d<float>"),
        ({"s": flat}, "s: expected a sampler for sampler, got Texture"),
        ({"l": line}, "l: expected a list of 2 textures for array<texture1d<half>, 2>, got 1"),
        ({"o": flat}, "o: expected a buffer or an array for device float4, got a texture"),
    ]:  # fmt: skip
        with pytest.raises(_core.DispatchError, match=rf"\[f\] {message}"):
            _core.Dispatch(pipeline, {**right, **change}, threads_in_grid=1, threads=1)
    del right["t"]
    with pytest.raises(
        _core.DispatchError, match="t: missing argument; expected texture2d<float> at texture 0"
    ):
        _core.Dispatch(pipeline, right, threads_in_grid=1, threads=1)


@pytest.mark.parametrize(
    ("access", "body", "message"),
    [
        ("sample", "t.write(float4(0), p)", "write: the texture is declared without access::write"),
        ("write", "t.read(p)", "read: the texture is declared with access::write"),
        ("read", "t.sample(sampler(), float2(p))", "sample and gather: .* without access::sample"),
    ],
)
def test_missing_access_is_a_compile_error(compile_kernel, access, body, message):
    source = f"kernel void f(texture2d<float, access::{access}> t, uint2 p [[thread_position_in_grid]]) {{\n{body};\n}}"
    with pytest.raises(_core.CompileError, match=rf"test\.metal:4:\d+: error: {message}"):
        compile_kernel(source)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"filter": "cubic"}, "mag_filter: expected one of nearest, linear; got cubic"),
        ({"address": "wrap"}, "address: expected one of clamp_to_zero, .*; got wrap"),
        (
            {"address": "repeat", "normalized": False},
            "repeat and mirrored_repeat need normalized=True",
        ),
        ({"address": ("repeat", "repeat")}, "address: expected a name or three of them, got"),
        ({"compare": "more"}, "compare: expected one of none, never"),
    ],
)
def test_wrong_samplers_are_explained(options, message):
    with pytest.raises(_core.DispatchError, match=message):
        _core.Sampler(**options)
