"""Test kernels whose parameters are tensors: reflection, extents, strides and elements."""

from __future__ import annotations

import re

import numpy as np
import pytest
from engine_ways import WAYS
from msl.tensor_products import HEADER, METAL4

from metalbench import _core
from metalbench.errors import CompileError, DispatchError
from metalbench.msl import engine

PRODUCT = f"""{HEADER}
template <class T>
kernel void product(tensor<device T, dextents<int32_t, 2>> A [[buffer(0)]],
                    tensor<const device T, dextents<int32_t, 2>, tensor_handle> B,
                    tensor<device float, dextents<int32_t, 2>> C [[buffer(5)]],
                    constant float& scale [[buffer(2)]],
                    uint2 tile [[threadgroup_position_in_grid]]) {{
  constexpr matmul2d_descriptor shape(32, 16, static_cast<int>(dynamic_extent), false, false, false,
                                      matmul2d_descriptor::mode::multiply);
  matmul2d<shape, execution_simdgroups<2>> op;
  static_assert(is_tensor_handle_v<decltype(A)> && !has_tensor_offset_v<decltype(A)>);
  auto a = A.slice(0, tile.y * 32);
  auto b = B.slice(tile.x * 16, 0);
  auto c = C.slice(tile.x * 16, tile.y * 32);
  static_assert(is_tensor_handle_v<decltype(a)> && has_tensor_offset_v<decltype(a)>);
  auto sums = op.template get_destination_cooperative_tensor<decltype(a), decltype(b), float>();
  op.run(a, b, sums);
  for (int i = 0; i < sums.get_capacity(); ++i) sums[i] *= scale;
  sums.store(c);
}}
template [[host_name("half_product")]] [[kernel]] decltype(product<half>) product<half>;
"""


@pytest.fixture(params=[*WAYS, "checked"])
def pipeline(request, cpu, monkeypatch):
    """Return a function that compiles a kernel."""
    checked = request.param == "checked"
    if not checked:
        monkeypatch.setenv(engine.ENGINE_VARIABLE, request.param)

    def compile_kernel(text: str, name: str) -> _core.Pipeline:
        return cpu.compile(text, macros=METAL4, checked=checked).pipeline(name)

    return compile_kernel


def test_a_product_of_tensors_that_are_arrays(cpu, pipeline):
    generator = np.random.default_rng(0)
    a = generator.integers(-3, 4, (50, 40)).astype(np.float16)
    b = generator.integers(-3, 4, (40, 30)).astype(np.float16)
    c = np.zeros((50, 30), np.float32)
    kernel = pipeline(PRODUCT, "half_product")
    arguments = {"A": a, "B": b, "C": c, "scale": np.float32(2)}
    cpu.run([_core.Dispatch(kernel, arguments, threadgroups=(2, 2), threads=64)])
    assert (c == 2 * (a.astype(np.float64) @ b.astype(np.float64))).all()


def test_reflection_of_tensors(cpu):
    kernel = cpu.compile(PRODUCT, macros=METAL4).pipeline("half_product")
    found = {each.name: each for each in kernel.arguments}
    assert [each.name for each in kernel.arguments] == [
        *("A", "B", "C", "scale"),
        *("A.extents", "B.extents", "C.extents"),
    ]
    assert [found[name].index for name in ("A", "B", "C", "scale")] == [0, 1, 5, 2]
    assert [found[name].type for name in ("A", "B", "C")] == ["half", "half", "float"]
    assert [found[name].element for name in ("A", "B", "C")] == ["float16", "float16", "float32"]
    assert [found[name].access for name in ("A", "B", "C")] == ["read_write", "read", "read_write"]
    extents = found["A.extents"]
    assert (extents.type, extents.element, extents.element_bytes) == ("array<long, 4>", "int64", 32)
    assert {found[f"{name}.extents"].index for name in "ABC"} == {28, 29, 30}


SUM = f"""{HEADER}
kernel void f(tensor<device int, extents<int, 3, dynamic_extent, 2>> t, device int* out) {{
  int sum = 0;
  for (int k = 0; k < 2; ++k)
    for (int j = 0; j < t.get_extent(1); ++j)
      for (int i = 0; i < 3; ++i) sum = sum * 3 + t[i, j, k];
  out[0] = sum; out[1] = t.get_extent(1); out[2] = t.get_stride(2); out[3] = t.get_stride(1);
}}
"""


def test_extents_and_strides_can_be_given(cpu, pipeline):
    kernel = pipeline(SUM, "f")
    whole, out = np.arange(48, dtype=np.int32).reshape(2, 6, 4), np.zeros(4, np.int32)
    sizes = np.array([3, 4, 2, 1, 4, 24], np.int64)
    expected = np.int64(0)
    for value in whole[:, :4, :3].ravel():
        expected = expected * 3 + value
    for given in (sizes, sizes.tobytes()):
        out[:] = 0
        arguments = {"t": whole, "t.extents": given, "out": out}
        cpu.run([_core.Dispatch(kernel, arguments, threadgroups=1, threads=1)])
        assert out.tolist() == [int(np.int64(expected).astype(np.int32)), 4, 24, 4]


def test_a_tensor_of_another_rank_is_refused(cpu):
    kernel = cpu.compile(SUM, macros=METAL4).pipeline("f")
    arguments = {"t": np.zeros((4, 3), np.int32), "out": np.zeros(4, np.int32)}
    message = "expected an array of 3 dimensions for a tensor of rank 3, got 2"
    with pytest.raises(DispatchError, match=re.escape(message)):
        _core.Dispatch(kernel, arguments, threadgroups=1, threads=1)


def test_a_tensor_of_another_element_type_is_refused(cpu):
    kernel = cpu.compile(SUM, macros=METAL4).pipeline("f")
    arguments = {"t": np.zeros((2, 4, 3), np.float32), "out": np.zeros(4, np.int32)}
    with pytest.raises(DispatchError, match="float32"):
        _core.Dispatch(kernel, arguments, threadgroups=1, threads=1)


def test_a_tensor_without_extents_is_refused(cpu):
    kernel = cpu.compile(SUM, macros=METAL4).pipeline("f")
    arguments = {"t": cpu.buffer(np.zeros(24, np.int32)), "out": np.zeros(4, np.int32)}
    with pytest.raises(DispatchError, match=re.escape("t.extents")):
        _core.Dispatch(kernel, arguments, threadgroups=1, threads=1)


def test_four_bits_have_two_elements_in_a_byte(cpu, pipeline):
    text = f"""{HEADER}
    kernel void f(tensor<device half, dextents<int, 2>> X,
                  tensor<device uint4b_format, dextents<int, 2>> W,
                  tensor<device float, dextents<int, 2>> Y) {{
      constexpr matmul2d_descriptor shape(16, 32, dynamic_length_v<int>, false, true);
      matmul2d<shape, execution_simdgroup> op;
      op.run(X, W, Y);
    }}"""
    generator = np.random.default_rng(0)
    x = generator.integers(-3, 4, (16, 24)).astype(np.float16)
    w = generator.integers(0, 16, (32, 24)).astype(np.uint8)
    y = np.zeros((16, 32), np.float32)
    packed = w[:, 0::2] | w[:, 1::2] << 4
    arguments = {"X": x, "W": packed, "Y": y}
    cpu.run([_core.Dispatch(pipeline(text, "f"), arguments, threadgroups=1, threads=32)])
    assert (y == x.astype(np.float64) @ w.astype(np.float64).T).all()


ALIASES = """
using Matrix = dextents<int32_t, 2>;
typedef device half Element;
using Halves = tensor<Element, Matrix>;
template <class T, int rank = 2>
using View = metal::tensor<const device T, dextents<int, rank>, tensor_handle>;
constant constexpr int kRank = 3;
namespace own { using Cube = extents<int, dynamic_extent, 4, 2>; }
"""
SPELLINGS = {
    "tensor<device half, Matrix>": ("half", "read_write", 2),
    "Halves": ("half", "read_write", 2),
    "View<float>": ("float", "read", 2),
    "View<bfloat, 1 + 2>": ("bfloat", "read", 3),
    "metal::tensor<device int, dextents<int, kRank>>": ("int", "read_write", 3),
    "tensor<constant char, own::Cube>": ("char", "read", 3),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_reflection_sees_through_type_aliases(cpu, spelling):
    text = f"{HEADER}{ALIASES}kernel void f({spelling} t, device int* out) {{ out[0] = 0; }}"
    found = {each.name: each for each in cpu.compile(text, macros=METAL4).pipeline("f").arguments}
    element, access, rank = SPELLINGS[spelling]
    assert (found["t"].type, found["t"].access) == (element, access)
    assert found["t.extents"].type == f"array<long, {2 * rank}>"


def test_an_alias_of_a_tensor_binds_an_array_and_checks_its_rank(cpu, pipeline):
    text = f"""{HEADER}{ALIASES}
    kernel void f(Halves t, device float* out) {{ out[0] = t[1, 2]; }}"""
    kernel, out = pipeline(text, "f"), np.zeros(1, np.float32)
    whole = np.arange(12, dtype=np.float16).reshape(4, 3)
    cpu.run([_core.Dispatch(kernel, {"t": whole, "out": out}, threadgroups=1, threads=1)])
    assert out[0] == whole[2, 1]
    with pytest.raises(DispatchError, match="expected an array of 2 dimensions"):
        _core.Dispatch(kernel, {"t": whole.ravel(), "out": out}, threadgroups=1, threads=1)


def test_template_arguments_give_element_and_extents(cpu):
    text = f"""{HEADER}
    template <class T, class X, int n> kernel void f(tensor<device T, X> t, device int* out) {{
      out[0] = n;
    }}
    template [[host_name("g")]] [[kernel]]
    decltype(f<bfloat, dextents<int, 4>, 1>) f<bfloat, dextents<int, 4>, 1>;"""
    found = {each.name: each for each in cpu.compile(text, macros=METAL4).pipeline("g").arguments}
    assert found["t"].type == "bfloat"
    assert found["t.extents"].type == "array<long, 8>"


def test_extents_of_unknown_rank_are_refused(cpu):
    text = f"""{HEADER}
    struct Traits {{ using Matrix = dextents<int, 2>; }};
    kernel void f(tensor<device half, Traits::Matrix> t, device int* out) {{ out[0] = 0; }}"""
    with pytest.raises(CompileError, match=r"t: expected extents of a known rank .*Traits"):
        cpu.compile(text, macros=METAL4).pipeline("f")
