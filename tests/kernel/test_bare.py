"""Kernels without a task: the lines that say what they take."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from metalbench import _core
from metalbench.errors import DeclarationError, TaskError
from metalbench.kernel.prepare import compile_kernel
from metalbench.kernel.standalone import is_kernel_file, read_standalone_kernel
from metalbench.task.workload import workload

SAXPY = """\
// y = a * x + y, and how often that was done.
// value: n = 1000
// value: a = 0.5
// buffer: x float32 (n) iota
// buffer: y float32 (n) output
// buffer: done uint32 (1) zeros inout
// dispatch: saxpy threadgroups=(ceil_div(n, 256)) threads=(256)
kernel void saxpy(device const float* x, device float* y, device metal::atomic_uint* done,
                  constant uint& n, constant float& a, uint i [[thread_position_in_grid]]) {
  if (i >= n) return;
  y[i] = a * x[i];
  metal::atomic_fetch_add_explicit(done, 1u, metal::memory_order_relaxed);
}
"""


def written(folder: Path, text: str, name: str = "saxpy.metal") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def with_line(line: str) -> str:
    return SAXPY.replace("// dispatch:", f"// {line}\n// dispatch:")


def test_a_standalone_file_runs_by_its_header_lines(tmp_path):
    bare = read_standalone_kernel(written(tmp_path, SAXPY))
    assert bare.inout == {"done"}
    compiled = compile_kernel(_core.open("cpu"), bare.kernel, bare.task)
    bound = compiled.bind(workload(bare.task, bare.size))
    compiled.device.run(bound.dispatches)
    np.testing.assert_array_equal(bound.read("y"), np.arange(1000, dtype=np.float32) / 2)
    assert bound.inputs["done"].array[0] == 1000


def test_buffers_have_the_declared_contents(tmp_path):
    lines = (
        "buffer: e float16 (8) ones",
        "buffer: b uint8 (64) integers 3 5",
        "buffer: c float32 (2, 500) uniform -1 1",
        "buffer: d DTYPE (n) normal",
    )
    bare = read_standalone_kernel(written(tmp_path, with_line("\n// ".join(lines))))
    drawn = workload(bare.task, bare.size).inputs
    assert drawn["e"].dtype == np.float16
    assert (drawn["e"] == 1).all()
    assert set(drawn["b"]) == {3, 4}
    assert drawn["c"].shape == (2, 500)
    assert -1 <= drawn["c"].min() < -0.9 < 0.9 < drawn["c"].max() < 1
    assert abs(drawn["d"].mean()) < 0.2
    assert 0.9 < drawn["d"].std() < 1.1
    assert (drawn["d"] != workload(bare.task, bare.size, seed=1).inputs["d"]).all()


def test_arrays_of_a_file_take_the_place_of_lines(tmp_path):
    x = np.full(1000, 3, np.float32)
    np.savez(tmp_path / "in.npz", x=x, mask=np.ones((2, 2), np.uint32))
    bare = read_standalone_kernel(written(tmp_path, SAXPY), tmp_path / "in.npz")
    drawn = workload(bare.task, bare.size).inputs
    np.testing.assert_array_equal(drawn["x"], x)
    assert drawn["mask"].shape == (2, 2)


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"x": np.zeros(7, np.float32)}, "x: expected float32 (1000,) by its line, got float32 (7"),
        ({"x": np.zeros(1000, np.uint32)}, "expected float32 (1000,) by its line, got uint32"),
        ({"z": np.zeros(7)}, "z: expected one of float32, .* got float64"),
        ({"y": np.zeros(1000, np.float32)}, "y is an output"),
    ],
)
def test_arrays_of_other_shapes_are_refused(tmp_path, arrays, words):
    np.savez(tmp_path / "in.npz", **arrays)
    with pytest.raises(DeclarationError, match=words.replace("(", r"\(").replace(")", r"\)")):
        read_standalone_kernel(written(tmp_path, SAXPY), tmp_path / "in.npz")


def test_a_file_without_arrays_is_refused(tmp_path):
    path = tmp_path / "in.npz"
    path.write_text("no arrays")
    with pytest.raises(DeclarationError, match="expected arrays by name"):
        read_standalone_kernel(written(tmp_path, SAXPY), path)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("buffer: z float32 (4)", "expected `// buffer: name float32"),
        ("buffer: z float64 (4) zeros", "unknown element type 'float64'; did you mean"),
        ("buffer: z float32 (4,) zeros", "expected a number, a name or"),
        ("buffer: z float32 (4) normall", "unknown content 'normall'; did you mean 'normal'"),
        ("buffer: z uint32 (4) integers 5", "expected such as `integers 0 64`"),
        ("buffer: z uint32 (4) integers 5 5", "expected the lower bound first"),
        ("buffer: x float32 (4) zeros", "'x' is declared twice"),
        ("buffer: z float32 (n - n) zeros", "every extent of z to be 1 or more"),
        ("value: m = many", "expected `// value: name = 1024`, got `m = many`"),
        ("inout: x", "`// inout:` is for kernels of a task; here write `// buffer: x"),
        ("bufer: z float32 (4) zeros", "unknown header line `// bufer:`; did you mean 'buffer'"),
        ("Buffer: z float32 (4) zeros", "did you mean 'buffer'"),
        ("buffers: z int8 (4) iota", "did you mean 'buffer'"),
        ("vlaue: m = 5", "did you mean 'value'"),
        ("textrue: z rgba8unorm (4, 4) uniform", "did you mean 'texture'"),
        ("samplr: s filter::linear", "did you mean 'sampler'"),
        ("dispach: saxpy threadgroups=(1) threads=(32)", "did you mean 'dispatch'"),
        ("scrach: part float32 (4)", "did you mean 'scratch'"),
        ("buffer: z int8 (4) integers -129 0", "expected integers of int8, from -128 to 127"),
    ],
)
def test_a_wrong_line_is_reported_with_its_place(tmp_path, line, words):
    with pytest.raises(DeclarationError) as told:
        read_standalone_kernel(written(tmp_path, with_line(line)))
    assert words in str(told.value)
    assert "saxpy.metal" in str(told.value)


@pytest.mark.parametrize(
    "comment",
    [
        "Shape: 64 by 4.",
        "Values: the sum of each row",
        "Buffers: x and y, of the same length.",
        "dispatcher: the host",
        "maths: see the paper",
        "Sample: one row",
        "Textures: none",
        "tuned: by hand, 4 rows a thread",
        "Note: x float32 (n) normal",
        "instances: two, fast and slow",
        "defaults are: 4",
    ],
)
def test_prose_with_a_colon_is_not_a_header_line(tmp_path, comment):
    assert read_standalone_kernel(written(tmp_path, with_line(comment))).task.outputs


@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
)
def test_integers_of_each_width_are_drawn_from_their_full_range(tmp_path, dtype):
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    line = f"buffer: z {dtype} (4096) integers {least} {most + 1}"
    bare = read_standalone_kernel(written(tmp_path, with_line(line)))
    z = workload(bare.task, bare.size).inputs["z"]
    assert z.dtype == np.dtype(dtype)
    assert z.min() < least // 2 + most // 4 + 1
    assert z.max() > most // 2


def test_a_standalone_kernel_has_no_expected_results(tmp_path):
    bare = read_standalone_kernel(written(tmp_path, SAXPY))
    with pytest.raises(TaskError, match="no task that says what is right"):
        _ = workload(bare.task, bare.size).expected


def test_is_kernel_file_distinguishes_files_and_names():
    assert is_kernel_file("kernels/a.metal")
    assert not is_kernel_file("softmax")


STRUCTS = """\
// value: n = 40
// value: NEGATE = true
// struct: params uint32 count = 30, float16x3 weights = 0.5, int8 shift = -3, int64 far = 7
// struct: pairs (n) int16 a iota, float32x2 b uniform 2 3
// buffer: y float32 (n) output
// dispatch: k threads_in_grid=(n) threads=(32)
#include <metal_stdlib>
using namespace metal;
constant bool NEGATE [[function_constant(0)]];
struct Params { uint count; half3 weights; char shift; long far; };
struct Pair { short a; float2 b; };
kernel void k(constant Params& params, device const Pair* pairs, device float* y,
              uint i [[thread_position_in_grid]]) {
  const float sum = params.weights.z * pairs[i].a + params.shift + params.far;
  y[i] = i < params.count ? (NEGATE ? -sum : sum) : pairs[i].b.y;
}
"""


@pytest.mark.parametrize("checked", [False, True])
def test_structs_and_function_constants_come_from_header_lines(tmp_path, checked):
    bare = read_standalone_kernel(written(tmp_path, STRUCTS, "k.metal"))
    compiled = compile_kernel(_core.open("cpu"), bare.kernel, bare.task, checked=checked)
    bound = compiled.bind(workload(bare.task, bare.size))
    compiled.device.run(bound.dispatches)
    y, i = bound.read("y"), np.arange(40)
    np.testing.assert_array_equal(y[:30], -(0.5 * i[:30] - 3 + 7))
    assert ((y[30:] >= 2) & (y[30:] < 3)).all()
    assert len(set(y[30:])) > 5


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("struct: p", r"expected `// struct:"),
        ("struct: p float a = 1", "unknown element type 'float'"),
        ("struct: p float32 a = one", "a: expected a number, true or false, got 'one'"),
        ("struct: p float32 a sideways", "unknown content 'sideways'"),
        ("struct: p float32", "expected a member such as"),
        ("struct: x float32 a = 1", "'x' is declared twice"),
        ("structs: p float32 a = 1", "did you mean 'struct'"),
    ],
)
def test_wrong_structs_are_refused(tmp_path, line, message):
    with pytest.raises(DeclarationError, match=message):
        read_standalone_kernel(written(tmp_path, with_line(line)))
