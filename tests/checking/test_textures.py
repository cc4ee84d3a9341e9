"""Textures of files without a task: their header lines, and findings about texels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from metalbench.checking.check import check
from metalbench.errors import DeclarationError, DispatchError
from metalbench.kernel.standalone import read_standalone_kernel
from metalbench.kernel.textures import sampler_options
from metalbench.task.workload import workload

HEAD = """\
// value: w = 8
// texture: t {line}
// buffer: y float32 (w) output
// dispatch: k threads_in_grid=(w) threads=(8)
#include <metal_stdlib>
using namespace metal;
kernel void k({type} t, device float* y, uint i [[thread_position_in_grid]]) {{
  y[i] = {read};
}}
"""


def file(
    folder: Path,
    line: str = "r32float (w, w) uniform",
    type: str = "texture2d<float, access::read>",
    read: str = "t.read(uint2(i, 0)).x",
) -> Path:
    path = folder / "k.metal"
    path.write_text(HEAD.format(line=line, type=type, read=read))
    return path


SAMPLED = HEAD.replace("k({type} t,", "k({type} t, sampler s,").replace(
    "// buffer", "// sampler: {sampler}\n// buffer"
)


def sampled(folder: Path, sampler: str, read: str = "t.sample(s, float2(2 * i, 0)).x") -> Path:
    path = folder / "k.metal"
    fields = {"line": "r32float (w, w) uniform", "type": "texture2d<float>"}
    path.write_text(SAMPLED.format(sampler=sampler, read=read, **fields))
    return path


def texels(path: Path) -> np.ndarray:
    bare = read_standalone_kernel(path)
    return workload(bare.task, bare.size).inputs["t"]


@pytest.mark.parametrize(
    ("line", "dtype", "shape"),
    [
        ("r32float (w, 4) normal", np.float32, (4, 8)),
        ("rgba16float (w) normal", np.float16, (8, 4)),
        ("rg16sint (w, 4, 2) integers -9 9", np.int16, (2, 4, 8, 2)),
        ("rgb10a2unorm (w, w) integers 0 99", np.uint32, (8, 8)),
    ],
)
def test_texels_are_stored_by_rows_with_their_components(tmp_path, line, dtype, shape):
    found = texels(file(tmp_path, line))
    assert (found.dtype, found.shape) == (dtype, shape)


def test_texels_are_drawn_as_kernels_see_them(tmp_path):
    assert (texels(file(tmp_path, "rgba8unorm (w, w) ones")) == 255).all()
    assert (texels(file(tmp_path, "r16snorm (w, w) ones")) == 32767).all()
    assert (texels(file(tmp_path, "r8uint (w, w) ones")) == 1).all()
    spread = texels(file(tmp_path, "bgra8unorm (64, 64) uniform"))
    assert spread.min() < 5
    assert spread.max() > 250


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("rgba8 (w, w) uniform", "k.metal:2: texture: format: expected r, rg or rgba"),
        ("r32float w uniform", "expected `// texture: name rgba8unorm"),
        ("r32float (w, w) unifrom", "unknown content 'unifrom'; did you mean 'uniform'"),
        ("r32float (w, 0) uniform", "expected every extent of t to be 1 or more"),
    ],
)
def test_read_standalone_kernel_refuses_a_wrong_texture_line(tmp_path, line, words):
    with pytest.raises(DeclarationError) as told:
        read_standalone_kernel(file(tmp_path, line))
    assert words in str(told.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"line": "r32float (w) uniform"}, r"expected 2 extents \(width, height\)"),
        ({"line": "r32uint (w, w) zeros"}, "expected a floating-point format"),
        (
            {"type": "device const float*", "read": "t[i]"},
            "expected a `// buffer: t ...` line",
        ),
    ],
)
def test_check_refuses_a_texture_that_the_kernel_does_not_take(tmp_path, options, words):
    with pytest.raises((DeclarationError, DispatchError), match=words):
        check(file(tmp_path, **options))


def test_check_warns_of_a_texel_outside_of_the_texture(tmp_path):
    path = file(tmp_path, read="t.read(uint2(i, 8)).x + t.read(uint2(i, 0), 1).x")
    findings = check(path)
    assert findings.passed
    told = {each.message.partition(",  by")[0] for each in findings.warnings}
    assert {each.kind for each in findings.warnings} == {"texture-bounds"}
    assert any("outside of `t`: at texel (0, 8, 0) of (8, 8, 1)" in each for each in told)
    assert any("level 1 of `t`, which has 1" in each for each in told)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("type", "extents", "read"),
    [
        ("texture1d<float, access::read>", "(w)", "t.read(i).x"),
        ("texture1d_array<float, access::read>", "(w, 3)", "t.read(i, 2).x"),
        ("texture2d_array<float, access::read>", "(w, 2, 3)", "t.read(uint2(i, 1), 2).x"),
        ("texture3d<float, access::read>", "(w, 2, 3)", "t.read(uint3(i, 1, 2)).x"),
        ("texturecube<float, access::read>", "(w, w, 6)", "t.read(uint2(i, 1), 5).x"),
        ("texture_buffer<float, access::read>", "(w)", "t.read(i).x"),
        ("depth2d<float, access::read>", "(w, w)", "t.read(uint2(i, 1))"),
    ],
)
def test_every_kind_of_texture_is_made_of_its_line(tmp_path, type, extents, read):
    path = file(tmp_path, f"r32float {extents} normal", type, read)
    assert check(path).found == ()
    path.write_text(path.read_text().replace("read(uint2(i", "read(uint2(i + 1"))
    path.write_text(path.read_text().replace("read(uint3(i", "read(uint3(i + 1"))
    path.write_text(path.read_text().replace("read(i", "read(i + 1"))
    (found,) = check(path).found
    assert found.kind == "texture-bounds"
    assert found.count == 1


@pytest.mark.slow
def test_texels_are_given_as_arrays(tmp_path):
    path = file(
        tmp_path,
        "r8uint (w, w) zeros",
        "texture2d<uint, access::read>",
        "t.read(uint2(t.read(uint2(i, 0)).x, 1)).x",
    )
    np.savez(tmp_path / "fit.npz", t=np.full((8, 8), 7, np.uint8))
    np.savez(tmp_path / "unfit.npz", t=np.full((8, 8), 8, np.uint8))
    assert check(path, buffers=tmp_path / "fit.npz").found == ()
    (found,) = check(path, buffers=tmp_path / "unfit.npz").found
    assert (found.kind, found.count) == ("texture-bounds", 8)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("between", "kinds"),
    [
        ("", {"texture-fence"}),
        ("simdgroup_barrier(mem_flags::mem_none);", {"texture-fence"}),
        ("atomic_thread_fence(mem_flags::mem_threadgroup);", {"texture-fence"}),
        ("t.fence();", set()),
        ("simdgroup_barrier(mem_flags::mem_texture);", set()),
        ("atomic_thread_fence(mem_flags::mem_texture);", set()),
        ("threadgroup_barrier(mem_flags::mem_texture);", set()),
        # A second texel, which only this thread uses.
        ("i = 15 - i;", set()),
    ],
)
def test_a_thread_sees_its_own_texels_after_a_fence(tmp_path, between, kinds):
    path = tmp_path / "k.metal"
    path.write_text(
        "// texture: t r32float (16) zeros inout\n// buffer: y float32 (8) output\n"
        "// dispatch: k threads_in_grid=(8) threads=(8)\n"
        "#include <metal_stdlib>\nusing namespace metal;\n"
        "kernel void k(texture1d<float, access::read_write> t, device float* y,\n"
        "              uint i [[thread_position_in_grid]]) {\n"
        "  uint own = i;\n  t.write(float4(i), i);\n"
        f"  {between}\n  y[own] = t.read(i).x;\n}}\n"
    )
    # Fences are of metal3.2.
    assert {each.kind for each in check(path, standard="metal3.2").found} == kinds


@pytest.mark.slow
def test_an_array_of_textures_is_one_line_with_an_extent_more(tmp_path):
    types = "array<texture2d<float, access::{}>, 3>"
    line = "r8unorm (w, 2, 3) uniform"
    path = file(tmp_path, line, types.format("read"), "t[i % 3].read(uint2(i, 1)).x")
    assert check(path).found == ()
    path = file(tmp_path, line, types.format("read"), "t[2].read(uint2(i + 1, 1)).x")
    (found,) = check(path).found
    assert (found.kind, found.details.buffer) == ("texture-bounds", "t")
    assert "outside of `t[2]`: at texel (8, 1, 0) of (8, 2, 1)" in found.message
    read = "t[1].read(uint2(i, 1)).x; t[1].write(1, uint2(i, 0))"
    path = file(tmp_path, line.replace("8unorm", "32float"), types.format("read_write"), read)
    (found,) = check(path).found
    assert (found.kind, found.count) == ("write-to-input", 8)
    path = file(tmp_path, "r8unorm (w, 2, 2) uniform", types.format("read"), "t[0].read(0).x")
    with pytest.raises(DispatchError, match="t: expected 3 textures, as the kernel takes, got 2"):
        check(path)
    path = file(tmp_path, "r8unorm (w, 2) uniform", types.format("read"), "t[0].read(0).x")
    with pytest.raises(DispatchError, match=r"expected 3 extents \(width, height, textures\)"):
        check(path)


@pytest.mark.parametrize(
    ("line", "options"),
    [
        ("s", {}),
        ("s filter::linear, coord::pixel", {"filter": "linear", "normalized": False}),
        ("s address::repeat,compare_func::less", {"address": "repeat", "compare": "less"}),
        (
            "s s_address::repeat, max_anisotropy(4)",
            {"address": ("repeat", "clamp_to_edge", "clamp_to_edge"), "max_anisotropy": 4},
        ),
        ("s lod_clamp(0.5f, 4.0)", {"lod_clamp": (0.5, 4.0)}),
    ],
)
def test_sampler_lines_use_the_words_of_msl(tmp_path, line, options):
    words = read_standalone_kernel(sampled(tmp_path, line)).kernel.samplers["s"]
    assert sampler_options(words) == options


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("s filter::linear address::repeat", "k.metal:3: expected words such as filter::linear"),
        ("s filtr::linear", "unknown word 'filtr' of a sampler; did you mean 'filter'"),
        ("s filter::liner", "mag_filter: expected one of nearest, linear; got liner"),
        ("s lod_clamp(1)", r"expected lod_clamp(0.0, 4.0), got lod_clamp(1)"),
        ("s max_anisotropy(17)", "expected max_anisotropy(1) to max_anisotropy(16)"),
        ("filter::linear", "expected `// sampler: name filter::linear, address::repeat`"),
        ("t filter::linear", "'t' is declared twice"),
    ],
)
def test_read_standalone_kernel_refuses_a_wrong_sampler_line(tmp_path, line, words):
    with pytest.raises(DeclarationError) as told:
        read_standalone_kernel(sampled(tmp_path, line))
    assert words in str(told.value)


def test_samplers_of_a_kernel_and_their_lines_must_match(tmp_path):
    with pytest.raises(DeclarationError, match=r"q: no dispatched kernel of k\.metal takes this"):
        check(sampled(tmp_path, "q filter::linear"))
    path = sampled(tmp_path, "s")
    path.write_text(path.read_text().replace("// sampler: s\n", ""))
    with pytest.raises(DeclarationError, match="s: expected a line such as `// sampler: s "):
        check(path)


@pytest.mark.slow
def test_check_samples_textures_as_the_line_declares(tmp_path):
    ones = "y[t.sample(s, float2(9, 0)).x > 0.0f ? i : 8] = t.sample(s, float2(9, 0)).x"
    # Outside of the texture: a texel of its edge, or zero.
    path = sampled(tmp_path, "s coord::pixel, address::clamp_to_edge", f"0; {ones}")
    path.write_text(path.read_text().replace("uniform", "ones"))
    assert check(path).passed
    path.write_text(path.read_text().replace("_edge", "_zero"))
    assert {each.kind for each in check(path).errors} == {"out-of-bounds"}
