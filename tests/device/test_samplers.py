"""Sampling: filters, address modes, levels, comparison, against the formulas in NumPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from metalbench import _core

MODES = ["clamp_to_edge", "clamp_to_zero", "clamp_to_border", "repeat", "mirrored_repeat"]
# Weights are computed in float32 from coordinates of up to 40 texels.
TOLERANCE = 40 * 2.0**-23


def wrapped(i: np.ndarray, n: int, mode: str) -> np.ndarray:
    """Return which of n texels has number i; -1 for the border."""
    if mode == "clamp_to_edge":
        return np.clip(i, 0, n - 1)
    if mode == "repeat":
        return i % n
    if mode == "mirrored_repeat":
        return np.minimum(i % (2 * n), 2 * n - 1 - i % (2 * n))
    return np.where((i >= 0) & (i < n), i, -1)


def sampled(
    texels: np.ndarray, at: np.ndarray, filter: str, mode: str, *, scale: bool = True, offset=(0, 0, 0), border=0.0
) -> np.ndarray:  # fmt: skip
    """`texels` is ([z,] [y,] x, component), `at` (n, axes) with x first."""
    axes = texels.ndim - 1
    taps = []
    for axis in range(axes):
        n = texels.shape[axes - 1 - axis]
        p = at[:, axis] * np.float32(n if scale else 1)
        q = p.astype(np.float64) - (0.5 if filter == "linear" else 0.0)
        first = np.floor(q).astype(np.int64)
        weight = q - first if filter == "linear" else np.zeros_like(q)
        first += offset[axis]
        taps.append([(wrapped(first + k, n, mode), (1 - k) + (2 * k - 1) * weight) for k in (0, 1)])
    total = np.zeros((len(at), texels.shape[-1]))
    for corner in itertools.product(*taps):
        index = tuple(i for i, _ in reversed(corner))
        inside = np.all([i >= 0 for i in index], axis=0)
        value = np.where(inside[:, None], texels[index], border)
        total += value * np.prod([w for _, w in corner], axis=0)[:, None]
    return total


SAMPLE = """
kernel void f({type} t, sampler s, device const float* at, device float4* out, uint i [[thread_position_in_grid]]) {{
  float4 p = float4(at[3 * i], at[3 * i + 1], at[3 * i + 2], 0);
  out[i] = {value};
}}
"""


def run(device, pipeline, at, **arguments):
    out = np.zeros((len(at), 4), np.float32)
    given = {"at": np.ascontiguousarray(at, np.float32), "out": out, **arguments}
    device.run([_core.Dispatch(pipeline, given, threads_in_grid=len(at), threads=32)])
    return out


def coordinates(axes: int, scale: float = 1.0) -> np.ndarray:
    """Random places in and around a texture, and a few on the edges of texels."""
    random = np.random.default_rng(5)
    at = random.uniform(-1.5, 2.5, (300, 3)).astype(np.float32)
    at[:7] = np.array([0, 0.25, 0.5, 0.75, 1, 2, -1], np.float32)[:, None]
    at[:, axes:] = 0
    return at * np.float32(scale)


@pytest.mark.parametrize("filter", ["nearest", "linear"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("type", "kind", "shape", "value"),
    [
        ("texture1d<float>", "1d", (7,), "t.sample(s, p.x)"),
        ("texture2d<float>", "2d", (6, 9), "t.sample(s, p.xy)"),
        ("texture3d<float>", "3d", (4, 6, 9), "t.sample(s, p.xyz)"),
    ],
)
def test_filters_and_address_modes(device, compile_kernel, type, kind, shape, value, mode, filter):
    texels = np.random.default_rng(0).random((*shape, 4), np.float32)
    pipeline = compile_kernel(SAMPLE.format(type=type, value=value))
    at = coordinates(len(shape))
    out = run(
        device,
        pipeline,
        at,
        t=device.texture(texels, kind=kind),
        s=_core.Sampler(filter, address=mode),
    )
    np.testing.assert_allclose(out, sampled(texels, at, filter, mode), rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("filter", ["nearest", "linear"])
@pytest.mark.parametrize("mode", MODES[:3])
def test_coordinates_in_texels(device, compile_kernel, mode, filter):
    texels = np.random.default_rng(0).random((6, 9, 4), np.float32)
    pipeline = compile_kernel(SAMPLE.format(type="texture2d<float>", value="t.sample(s, p.xy)"))
    at = coordinates(2, scale=5)
    sampler = _core.Sampler(filter, address=mode, normalized=False)
    out = run(device, pipeline, at, t=device.texture(texels), s=sampler)
    expected = sampled(texels, at, filter, mode, scale=False)
    np.testing.assert_allclose(out, expected, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize(
    ("declared", "filter", "mode"),
    [
        ("coord::normalized, filter::linear, address::repeat", "linear", "repeat"),
        ("address::mirrored_repeat, mag_filter::linear, min_filter::nearest", "linear", "mirrored_repeat"),
        ("s_address::repeat, t_address::repeat, r_address::clamp_to_zero", "nearest", "repeat"),
        ("filter::linear, address::clamp_to_edge, lod_clamp(0.0f, 8.0f), max_anisotropy(4)", "linear", "clamp_to_edge"),
        ("", "nearest", "clamp_to_edge"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("checked", [False, True])
def test_constexpr_samplers(device, compile_kernel, declared, filter, mode, checked):
    texels = np.random.default_rng(0).random((6, 9, 4), np.float32)
    declaration = f"constexpr sampler own({declared});" if declared else "constexpr sampler own;"
    source = declaration + SAMPLE.format(type="texture2d<float>", value="t.sample(own, p.xy)")
    source = source.replace("sampler s, ", "")
    at = coordinates(2)
    out = run(device, compile_kernel(source, checked=checked), at, t=device.texture(texels))
    np.testing.assert_allclose(out, sampled(texels, at, filter, mode), rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("channels", [1, 4])
@pytest.mark.parametrize(
    ("color", "rgb", "alpha"), [("transparent_black", 0, 0), ("opaque_black", 0, 1), ("opaque_white", 1, 1)]
)  # fmt: skip
def test_border_colors(device, compile_kernel, color, rgb, alpha, channels):
    texture = device.texture(np.full((2, 2, channels), 0.5, np.float32))
    pipeline = compile_kernel(SAMPLE.format(type="texture2d<float>", value="t.sample(s, p.xy)"))
    sampler = _core.Sampler(address="clamp_to_border", border_color=color)
    out = run(device, pipeline, [[-1, 0, 0]], t=texture, s=sampler)
    expected = [rgb] * 3 + [alpha] if channels == 4 else [rgb, 0, 0, 1]
    assert list(out[0]) == expected


def test_offsets_and_gather(device, compile_kernel):
    texels = np.random.default_rng(0).random((6, 9, 4), np.float32)
    texture, at = device.texture(texels), coordinates(2)
    source = SAMPLE.format(type="texture2d<float>", value="t.sample(s, p.xy, int2(2, -1))")
    out = run(
        device, compile_kernel(source), at, t=texture, s=_core.Sampler("linear", address="repeat")
    )
    expected = sampled(texels, at, "linear", "repeat", offset=(2, -1))
    np.testing.assert_allclose(out, expected, rtol=0, atol=TOLERANCE)
    source = SAMPLE.format(
        type="texture2d<float>", value="t.gather(s, p.xy, int2(0), component::z)"
    )
    # Away from the edges of texels: there float32 decides.
    at = (np.random.default_rng(1).integers(-9, 18, (50, 3)) + 0.2) / np.array([9, 6, 1])
    out = run(device, compile_kernel(source), at, t=texture, s=_core.Sampler(address="repeat"))
    x, y = (np.floor(at[:, a] * n - 0.5).astype(int) for a, n in enumerate((9, 6)))
    corners = [(0, 1), (1, 1), (1, 0), (0, 0)]
    np.testing.assert_array_equal(
        out, np.stack([texels[(y + j) % 6, (x + i) % 9, 2] for i, j in corners], -1)
    )


def pyramid() -> list[np.ndarray]:
    return [np.full((8 >> level, 8 >> level, 4), 10.0 * level, np.float32) for level in range(4)]


@pytest.mark.parametrize(
    ("mip_filter", "option", "expected"),
    [
        ("none", "level(2)", 0),
        ("nearest", "level(1.4f)", 10),
        ("nearest", "level(1.6f)", 20),
        ("linear", "level(1.25f)", 12.5),
        ("linear", "level(99)", 30),
        ("linear", "bias(0.5f)", 5),
        ("linear", "bias(-3)", 0),
        ("linear", "gradient2d(float2(0.5f, 0), float2(0, 0.125f))", 20),
        ("linear", "gradient2d(float2(0, 0.25f), float2(0)), int2(1, 0)", 10),
        ("linear", "level(0), min_lod_clamp(1)", 10),
    ],
)
def test_levels_of_detail(device, compile_kernel, mip_filter, option, expected):
    pipeline = compile_kernel(
        SAMPLE.format(type="texture2d<float>", value=f"t.sample(s, p.xy, {option})")
    )
    sampler = _core.Sampler("linear", mip_filter=mip_filter)
    out = run(device, pipeline, [[0.3, 0.6, 0]], t=device.texture(pyramid()), s=sampler)
    np.testing.assert_allclose(out, expected, rtol=1e-6)
    clamped = _core.Sampler("linear", mip_filter="linear", lod_clamp=(0.5, 0.5))
    out = run(device, pipeline, [[0.3, 0.6, 0]], t=device.texture(pyramid()), s=clamped)
    np.testing.assert_allclose(out, 10 if "min_lod" in option else 5, rtol=1e-6)


COMPARE = {
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "equal": np.equal,
    "not_equal": np.not_equal,
    "always": lambda a, b: np.ones_like(b, bool),
    "never": lambda a, b: np.zeros_like(b, bool),
}


@pytest.mark.parametrize("compare", COMPARE)
def test_comparison(device, compile_kernel, compare):
    depths = np.random.default_rng(0).integers(0, 3, (6, 9)).astype(np.float32) / 2
    source = SAMPLE.format(type="depth2d<float>", value="float4(t.sample_compare(s, p.xy, 0.5f))")
    at = coordinates(2)
    sampler = _core.Sampler("linear", address="repeat", compare=compare)
    out = run(device, compile_kernel(source), at, t=device.texture(depths), s=sampler)
    passed = COMPARE[compare](0.5, depths).astype(np.float64)[..., None]
    expected = sampled(passed, at, "linear", "repeat")
    np.testing.assert_allclose(out, np.repeat(expected, 4, 1), rtol=0, atol=TOLERANCE)


def test_elements_of_arrays_are_clamped(device, compile_kernel):
    texels = np.random.default_rng(0).random((3, 4, 5, 4), np.float32)
    source = SAMPLE.format(type="texture2d_array<float>", value="t.sample(s, p.xy, uint(p.z))")
    at = coordinates(2)
    at[:, 2] = np.arange(len(at)) % 5
    out = run(
        device,
        compile_kernel(source),
        at,
        t=device.texture(texels, kind="2d_array"),
        s=_core.Sampler("linear"),
    )
    each = np.stack([sampled(layer, at, "linear", "clamp_to_edge") for layer in texels])
    expected = each[np.minimum(at[:, 2].astype(int), 2), np.arange(len(at))]
    np.testing.assert_allclose(out, expected, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("filter", ["nearest", "linear"])
def test_cubes(device, compile_kernel, filter):
    """A cube whose texels are their own directions: what is sampled is where it was sampled."""
    n = 64
    s = (2 * np.arange(n) + 1) / n - 1
    u, v = np.meshgrid(s, s)
    one = np.ones_like(u)
    faces = [(one, -v, -u), (-one, -v, u), (u, one, v), (u, -one, -v), (u, -v, one), (-u, -v, -one)]
    texels = np.stack([np.stack([*face, one], -1) for face in faces]).astype(np.float32)
    at = np.random.default_rng(0).normal(size=(500, 3)).astype(np.float32)
    source = SAMPLE.format(type="texturecube<float>", value="t.sample(s, p.xyz)")
    out = run(
        device,
        compile_kernel(source),
        at,
        t=device.texture(texels, kind="cube"),
        s=_core.Sampler(filter),
    )
    on_cube = at / np.abs(at).max(1, keepdims=True)
    # Nearest is off by at most half a texel; linear by as much beyond the last texels of a face.
    np.testing.assert_allclose(out[:, :3], on_cube, rtol=0, atol=1.0 / n + TOLERANCE)
    inner = (np.sort(np.abs(on_cube), 1)[:, 1] < 1 - 1.0 / n) & (filter == "linear")
    np.testing.assert_allclose(out[inner, :3], on_cube[inner], rtol=0, atol=TOLERANCE)


def test_nan_coordinates_are_defined(device, compile_kernel):
    texels = np.arange(16, dtype=np.float32).reshape(4, 4)
    at = np.array([[np.nan, 0, 0], [np.inf, 0, 0], [-np.inf, 0, 0], [1e30, 1e30, 0]], np.float32)
    source = SAMPLE.format(type="texture2d<float>", value="t.sample(s, p.xy)")
    for mode in MODES:
        out = run(
            device,
            compile_kernel(source),
            at,
            t=device.texture(texels),
            s=_core.Sampler("linear", address=mode),
        )
        assert np.isfinite(out).all()
        if mode == "clamp_to_edge":
            np.testing.assert_array_equal(out[:, 0], [0, 3, 0, 15])


def test_integers_are_not_filtered(device, compile_kernel):
    texels = np.arange(16, dtype=np.uint32).reshape(4, 4)
    source = SAMPLE.format(type="texture2d<uint>", value="float4(t.sample(s, p.xy))")
    at = coordinates(2)
    out = run(
        device, compile_kernel(source), at, t=device.texture(texels), s=_core.Sampler("linear")
    )
    expected = sampled(texels[..., None], at, "nearest", "clamp_to_edge")[:, 0]
    np.testing.assert_array_equal(out[:, 0], expected)
