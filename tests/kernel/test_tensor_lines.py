"""`// tensor:` lines of kernels without a task: shapes, strides and contents of tensors."""

from __future__ import annotations

import re

import numpy as np
import pytest

from metalbench import _core
from metalbench.checking.check import check
from metalbench.errors import DeclarationError
from metalbench.kernel.prepare import compile_kernel
from metalbench.kernel.standalone import read_standalone_kernel
from metalbench.task.workload import workload

PRODUCT = """\
// C = A B^T with tiles of 16 x 32 for each SIMD-group.
// tensor: A float16 (m, k) strides (pitch, 1) integers -3 4
// tensor: B uint4 (n, k) integers 0 16
// tensor: C float32 (m, n) output
// value: m = 20
// value: n = 40
// value: k = 24
// value: pitch = 32
// dispatch: product  threadgroups=(ceil_div(n, 32), ceil_div(m, 16))  threads=(32)
// std: metal4.0
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;
using Matrix = dextents<int32_t, 2>;
kernel void product(tensor<device half, Matrix> A, tensor<device uint4b_format, Matrix> B,
                    tensor<device float, Matrix> C, uint2 tile [[threadgroup_position_in_grid]]) {
  constexpr matmul2d_descriptor shape(16, 32, dynamic_length_v<int>, false, true);
  matmul2d<shape, execution_simdgroup> op;
  auto a = A.slice(0, tile.y * 16);
  auto b = B.slice(0, tile.x * 32);
  auto c = C.slice(tile.x * 32, tile.y * 16);
  op.run(a, b, c);
}
"""
COPY = """\
// A copy.
// tensor: X float32 (4, 6) iota
// tensor: Y float32 (4, 6) output
// dispatch: copy  threadgroups=(1)  threads=(6, 4)
// std: metal4.0
#include <metal_tensor>
using namespace metal;
kernel void copy(tensor<const device float, dextents<int, 2>> X,
                 tensor<device float, dextents<int, 2>> Y,
                 uint2 at [[thread_position_in_threadgroup]]) { Y[at.x, at.y] = X[at.x, at.y]; }
"""
X, Y = "// tensor: X float32 (4, 6) iota", "// tensor: Y float32 (4, 6) output"


def written(folder, text):
    path = folder / "k.metal"
    path.write_text(text)
    return path


def run(path):
    bare = read_standalone_kernel(path)
    compiled = compile_kernel(_core.open("cpu"), bare.kernel, bare.task)
    bound = compiled.bind(workload(bare.task, bare.size))
    compiled.device.run(bound.dispatches)
    return bound


def test_a_product_of_tensors_runs_by_its_lines(tmp_path):
    bound = run(written(tmp_path, PRODUCT))
    a, packed = bound.inputs["A"].array, bound.inputs["B"].array
    assert a.shape == (19 * 32 + 24,)
    assert packed.shape == (40, 12)
    rows = np.lib.stride_tricks.as_strided(a, (20, 24), (64, 2)).astype(np.float64)
    b = np.stack([packed & 15, packed >> 4], axis=-1).reshape(40, 24).astype(np.float64)
    assert 0 < b.max() <= 15
    assert (bound.read("C") == rows @ b.T).all()


def test_a_check_accepts_strides_and_finds_what_is_not_written(tmp_path):
    found = check(written(tmp_path, PRODUCT))
    assert not found.found
    found = check(written(tmp_path, PRODUCT.replace("ceil_div(n, 32)", "1")))
    assert [each.kind for each in found.found] == ["output-not-written"]


def test_a_tensor_may_be_updated_in_place_between_its_strides(tmp_path):
    text = COPY.replace(Y, "// tensor: Y float32 (4, 6) strides (9, 1) zeros inout")
    result = run(written(tmp_path, text)).inputs["Y"].array
    expected = np.zeros((4, 9), np.float32)
    expected[:, :6] = np.arange(24).reshape(4, 6)
    assert (result == expected.ravel()[: 3 * 9 + 6]).all()
    assert not check(written(tmp_path, text)).found


def test_an_access_outside_of_the_array_is_found(tmp_path):
    text = COPY.replace("threads=(6, 4)", "threads=(6, 5)")
    kinds = {each.kind for each in check(written(tmp_path, text)).found}
    assert kinds == {"out-of-bounds"}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("// tensor: X float32 (4, 6)", "k.metal:2: expected `// tensor: name float16"),
        ("// tensor: X float64 (4, 6) iota", "unknown element type 'float64'"),
        ("// tensor: X float32 (4, 0) iota", "X: expected every extent to be 1 or more"),
        ("// tensor: X float32 (4, many) iota", "many"),
        ("// tensor: Y float32 (4, 6) iota", "'Y' is declared twice"),
        (
            "// tensor: X float32 (4, 6) strides (6) iota",
            "X: expected 2 strides, of which the last",
        ),
        ("// tensor: X float32 (4, 6) strides (6, 2) iota", "of which the last is 1"),
        ("// tensor: X float32 (4, 6) strides (5, 1) iota", "expected stride 5 to be at least 6"),
        ("// tensor: X float32 (4, 6) strides (8, 1) output", "expected an output without strides"),
        ("// tensor: X int4 (4, 5) zeros", "expected rows of whole bytes"),
        (
            "// tensor: X int4 (4, 6) normal",
            "expected zeros, ones or integers of int4, from -8 to 7",
        ),
        ("// tensor: X uint4 (4, 6) integers 0 17", "integers of uint4, from 0 to 15"),
        ("// tensro: X float32 (4, 6) iota", "did you mean 'tensor'?"),
    ],
)
def test_a_wrong_line_is_refused_with_its_place(tmp_path, line, words):
    with pytest.raises(DeclarationError, match=re.escape(words)):
        read_standalone_kernel(written(tmp_path, COPY.replace(X, line)))


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (X, "// tensor: X float32 (24) iota", "k.metal:2: X: kernel copy takes a tensor of rank 2"),
        (X, "// tensor: X float16 (4, 6) iota", "X: expected float16 (half), got float"),
        (X, "// tensor: X int4 (4, 6) zeros", "X: kernel copy takes a tensor of float, the line"),
        (
            X,
            f"{X}\n// tensor: Z float32 (3) zeros",
            "add `tensor<device float, dextents<int32_t, 1>>",
        ),
        ("tensor<const device float, dextents<int, 2>> X", "device float* X", "write `// buffer:`"),
    ],
)
def test_a_line_that_does_not_fit_the_kernel_is_refused(tmp_path, before, after, words):
    text = COPY.replace(before, after).replace("X[at.x, at.y];", "1;")
    bare = read_standalone_kernel(written(tmp_path, text))
    with pytest.raises(DeclarationError, match=re.escape(words)):
        compile_kernel(_core.open("cpu"), bare.kernel, bare.task)
