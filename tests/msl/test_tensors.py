"""Test tensors, cooperative tensors and operations on them, in the forms that kernels use."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from engine_ways import WAYS
from msl.tensor_products import HEADER, METAL4

from metalbench import _core
from metalbench.errors import CompileError
from metalbench.msl import engine

Run = Callable[..., dict[str, np.ndarray]]


@pytest.fixture(params=[*WAYS, "checked"])
def run(request, cpu, monkeypatch) -> Run:
    """Run a kernel `f` with arrays by the names of its parameters; return the arrays."""
    checked = request.param == "checked"
    if not checked:
        monkeypatch.setenv(engine.ENGINE_VARIABLE, request.param)

    def run_kernel(
        text: str, threads: int = 32, groups: tuple[int, ...] = (1,), layout: int = 0, **arrays
    ) -> dict[str, np.ndarray]:
        macros = METAL4 | ({"__METALBENCH_TENSOR_LAYOUT__": str(layout)} if layout else {})
        library = cpu.compile(HEADER + text, macros=macros, checked=checked)
        pipeline = library.pipeline("f")
        cpu.run([_core.Dispatch(pipeline, arrays, threadgroups=groups, threads=threads)])
        return arrays

    return run_kernel


def integers(*shape: int, seed: int = 0, dtype: type = np.float32) -> np.ndarray:
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(dtype)


def test_extents_have_static_and_dynamic_sizes(run):
    text = """
    static_assert(extents<int, 3, dynamic_extent>::rank() == 2);
    static_assert(extents<int, 3, dynamic_extent>::rank_dynamic() == 1);
    static_assert(is_same_v<dextents<int, 2>, extents<int, dynamic_extent, dynamic_extent>>);
    static_assert(is_same_v<dextents<ushort, 2>::index_type, ushort>);
    kernel void f(device int* x) {
      extents<int, 3, dynamic_extent, 5> some(7);
      dextents<int32_t, 2> all{11, 13};
      extents<int, 2, 4> none;
      dextents<long, 2> wide(all);
      x[0] = some.extent(0); x[1] = some.extent(1); x[2] = some.extent(2);
      x[3] = all.extent(0); x[4] = all.extent(1); x[5] = none.extent(1); x[6] = wide.extent(1);
      x[7] = some == extents<int, 3, 7, 5>(); x[8] = all == dextents<int, 2>(11, 12);
    }"""
    x = run(text, threads=1, x=np.zeros(9, np.int32))["x"]
    assert x.tolist() == [3, 7, 5, 11, 13, 4, 13, 1, 0]


def test_tensors_are_views_of_all_address_spaces(run):
    text = """
    template <class T> int sum(T t) {
      int all = 0;
      for (int j = 0; j < t.get_extent(1); ++j)
        for (int i = 0; i < t.get_extent(0); ++i) all = all * 2 + t[i, j];
      return all;
    }
    kernel void f(device int* x, constant int* c) {
      threadgroup int g[6];
      int own[6];
      for (int i = 0; i < 6; ++i) { g[i] = c[i]; own[i] = x[i]; }
      auto a = tensor(x, dextents<int32_t, 2>(3, 2));
      auto b = tensor(c, extents<int32_t, 3, 2>());
      tensor<threadgroup int, dextents<int, 2>, tensor_inline> d(g, dextents<int, 2>(2, 2),
                                                                 array<int, 2>{1, 3});
      auto e = tensor<thread int, extents<int, 2, 3>, tensor_inline>(own, extents<int, 2, 3>());
      tensor<const device int, dextents<int, 2>, tensor_inline> h(x, {3, 2});
      static_assert(is_tensor_inline_v<decltype(a)> && !is_tensor_handle_v<decltype(a)>);
      static_assert(!has_tensor_offset_v<decltype(a)>);
      static_assert(decltype(a)::get_rank() == 2);
      static_assert(is_same_v<decltype(h)::value_type, int>);
      const int found[] = {sum(a), sum(b), sum(d), sum(e), sum(h), d.get_stride(1)};
      a[2, 1] = 9;
      for (int i = 0; i < 6; ++i) x[6 + i] = found[i];
    }"""
    x, c = np.arange(12, dtype=np.int32), np.arange(6, dtype=np.int32) * 2

    def folded(*values: int) -> int:
        return sum(value << (len(values) - 1 - i) for i, value in enumerate(values))

    run(text, threads=1, x=x, c=c)
    assert x[5] == 9
    plain = folded(*range(6))
    assert x[6:].tolist() == [plain, 2 * plain, folded(0, 2, 6, 8), plain, plain, 3]


def test_slices_move_the_origin_and_stop_at_the_end(run):
    text = """
    kernel void f(device int* x, device int* y) {
      auto t = tensor(x, dextents<int32_t, 2>(5, 4));
      auto moved = t.slice(1, 2);
      auto again = moved.slice(2, 1);
      auto fixed = t.slice<2, 3>(3, 1);
      auto mixed = t.slice<2, dynamic_extent>(0, 1);
      static_assert(decltype(fixed)::static_extent(1) == 3);
      static_assert(decltype(mixed)::static_extent(1) == dynamic_extent);
      y[0] = moved[0, 0]; y[1] = moved.get_extent(0); y[2] = moved.get_extent(1);
      y[3] = again[1, 0]; y[4] = again.get_extent(0); y[5] = fixed[1, 2];
      y[6] = fixed.get_extent(0); y[7] = mixed.get_extent(1); y[8] = mixed[1, 2];
      fixed[0, 0] = 99;
    }"""
    x, y = np.arange(20, dtype=np.int32), np.zeros(9, np.int32)
    run(text, threads=1, x=x, y=y)
    assert y.tolist() == [11, 4, 2, 19, 2, 19, 2, 3, 16]
    assert x[8] == 99


LOAD_AND_STORE = """
kernel void f(device float* x, device float* y, device int* count) {
  constexpr matmul2d_descriptor shape(SHAPE, 8);
  matmul2d<shape, execution_simdgroup> op;
  using T = tensor<device float, dextents<int, 2>, tensor_inline>;
  T from(x, dextents<int, 2>(WIDTH, HEIGHT)), to(y, dextents<int, 2>(WIDTH, HEIGHT));
  auto c = op.get_destination_cooperative_tensor<T, T, float>();
  static_assert(decltype(c)::get_rank() == 2);
  c.load(from);
  int valid = 0;
  for (auto at = c.begin(); at != c.end(); ++at) {
    auto index = at.get_multidimensional_index();
    if (!at.is_valid_element()) continue;
    ++valid;
    *at += index[0] * 100 + index[1] * 1000;
  }
  count[simd_prefix_inclusive_sum(1) - 1] = valid;
  for (uint16_t i = 0; i < c.get_capacity(); ++i) c.set(i, c.get(i) + 1);
  c.store(to);
}
"""


@pytest.mark.parametrize("layout", range(4))
@pytest.mark.parametrize("shape", [(16, 32), (8, 8), (24, 12)])
@pytest.mark.parametrize("lack", [(0, 0), (3, 5)])
def test_load_and_store_stay_in_the_extents(run, layout, shape, lack):
    rows, columns = shape
    height, width = rows - lack[0], columns - lack[1]
    text = LOAD_AND_STORE.replace("SHAPE", f"{rows}, {columns}")
    text = text.replace("WIDTH", str(width)).replace("HEIGHT", str(height))
    x, y = integers(rows, columns), np.full((rows, columns), 7, np.float32)
    count = np.zeros(32, np.int32)
    run(text, layout=layout, x=x, y=y, count=count)
    assert count.sum() == rows * columns
    inside = x.ravel()[: width * height].reshape(height, width)
    inside = inside + np.arange(width) * 100 + np.arange(height)[:, None] * 1000 + 1
    assert (y.ravel()[: width * height].reshape(height, width) == inside).all()
    assert (y.ravel()[width * height :] == 7).all()


REDUCTIONS = """
kernel void f(device float* x, device float* rows, device float* columns, device float* y) {
  constexpr matmul2d_descriptor shape(SHAPE, 8);
  matmul2d<shape, execution_simdgroup> op;
  auto t = tensor(x, dextents<int, 2>(COLUMNS, ROWS));
  auto c = op.get_destination_cooperative_tensor<decltype(t), decltype(t), float>();
  auto r = op.get_row_reduction_destination_cooperative_tensor<decltype(t), decltype(t), float>();
  auto k = op.get_column_reduction_destination_cooperative_tensor<decltype(t), decltype(t), float>();
  c.load(t);
  reduce_rows(c, r, reduction_operation::max, -INFINITY);
  reduce_columns(c, k);
  if (is_iterator_compatible(c, r)) {
    for (auto at = c.begin(); at != c.end(); ++at) *at -= *r.map_iterator(at);
  }
  auto low = reduction_operation_identity<float>::min_identity;
  auto least = op.get_row_reduction_destination_cooperative_tensor<decltype(t), decltype(t), float>();
  reduce_rows(c, least, reduction_operation::min, low);
  for (int i = 0; i < r.get_capacity(); ++i) {
    if (r.is_valid_element(i)) r[i] += 1000 * least[i] + r.get_multidimensional_index(i)[0] * 0.5f;
  }
  r.store(tensor(rows, dextents<int, 1>(ROWS)));
  k.store(tensor(columns, dextents<int, 1>(COLUMNS)));
  c.store(tensor(y, dextents<int, 2>(COLUMNS, ROWS)));
}
"""


@pytest.mark.parametrize("layout", range(4))
@pytest.mark.parametrize("shape", [(16, 32), (8, 8), (24, 12), (64, 64)])
def test_reductions_and_map_iterator(run, layout, shape):
    rows, columns = shape
    text = REDUCTIONS.replace("SHAPE", f"{rows}, {columns}")
    text = text.replace("COLUMNS", str(columns)).replace("ROWS", str(rows))
    x = integers(rows, columns) * 5
    found = {"rows": np.zeros(rows, np.float32), "columns": np.zeros(columns, np.float32)}
    found |= {"y": np.zeros_like(x), "x": x}
    run(text, layout=layout, **found)
    most = x.max(1)
    assert (found["y"] == x - most[:, None]).all()
    expected = most + 1000 * (x - most[:, None]).min(1) + np.arange(rows) * 0.5
    assert (found["rows"] == expected).all()
    assert (found["columns"] == x.sum(0)).all()


CONVERSION = """
kernel void f(device half* q, device half* k, device half* v, device float* out) {
  constexpr matmul2d_descriptor first(16, 24, 8, false, true, false,
                                      matmul2d_descriptor::mode::multiply);
  constexpr matmul2d_descriptor second(16, 8, 24, false, false, false,
                                       matmul2d_descriptor::mode::multiply);
  matmul2d<first, execution_simdgroup> scores;
  matmul2d<second, execution_simdgroup> weighted;
  auto Q = tensor(q, dextents<int, 2>(8, 16)), K = tensor(k, dextents<int, 2>(8, 24));
  auto V = tensor(v, dextents<int, 2>(8, 24));
  auto s = scores.get_destination_cooperative_tensor<decltype(Q), decltype(K), half>();
  scores.run(Q, K, s);
  threadgroup half copy[16 * 24];
  auto O = tensor(out, dextents<int, 2>(8, 16));
  auto o = weighted.get_destination_cooperative_tensor<decltype(Q), decltype(V), float>();
  if (weighted.is_compatible_as_left_input<half, half, float>(s)) {
    auto p = weighted.get_left_input_cooperative_tensor<half, half, float>(s);
    weighted.run(p, V, o);
  } else {
    auto P = tensor(copy, dextents<int, 2>(24, 16));
    s.store(P);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    weighted.run(P, V, o);
  }
  if (weighted.is_compatible_as_left_input<float, half, float>(s)) out[0] = -1;
  o.store(O);
}
"""


@pytest.mark.parametrize("layout", range(4))
def test_a_result_becomes_the_input_of_another_product(run, layout):
    q, k = integers(16, 8, dtype=np.float16), integers(24, 8, seed=1, dtype=np.float16)
    v, out = integers(24, 8, seed=2, dtype=np.float16), np.zeros((16, 8), np.float32)
    run(CONVERSION, layout=layout, q=q, k=k, v=v, out=out)
    wide = [each.astype(np.float64) for each in (q, k, v)]
    assert (out == (wide[0] @ wide[1].T) @ wide[2]).all()


def fragment_places(relaxed: bool, lane: int, index: int, fragments: int) -> tuple[int, int]:
    """Return (fragment, row, column in it) as kernels for Apple's GPUs compute them."""
    if relaxed:
        quad = lane >> 2
        row = (quad & 4) | ((lane >> 1) & 3)
        column = ((quad & 2) | (lane & 1)) * 4
        element = index % 8
        return index // 8, row + 8 * (element >> 2), column + (element & 3)
    column = (lane & 1) * 2 + ((lane >> 3) & 1) * 4
    row = ((lane >> 1) & 3) + ((lane >> 4) & 1) * 4
    half, fragment = index // (4 * fragments), index // 4 % fragments
    element = index % 4 + 4 * half
    column += (element & 1) + ((element & 3) >> 1) * 8
    return fragment, row + 8 * (element >> 2), column


PLACES = """
template <class T> void tell(T t, device int* out, uint lane) {
  for (int i = 0; i < t.get_capacity(); ++i) {
    auto at = t.get_multidimensional_index(i);
    out[(lane * 16 + i) * 2] = at[0];
    out[(lane * 16 + i) * 2 + 1] = at[1];
  }
}
kernel void f(device int* left, device int* right, device int* sums,
              uint lane [[thread_index_in_simdgroup]]) {
  constexpr auto shape = matmul2d_descriptor(16, 32, 16, false, TURN, RELAXED,
                                             matmul2d_descriptor::mode::multiply_accumulate);
  matmul2d<shape, execution_simdgroup> op;
  auto a = op.get_left_input_cooperative_tensor<half, half, float>();
  auto b = op.get_right_input_cooperative_tensor<half, half, float>();
  auto c = op.get_destination_cooperative_tensor<decltype(a), decltype(b), float>();
  static_assert(a.get_capacity() == 8 && b.get_capacity() == 16 && c.get_capacity() == 16);
  a[15] = b[15] = 1;  // kernels fill two fragments of either operand
  tell(a, left, lane); tell(b, right, lane); tell(c, sums, lane);
}
"""


@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize("turned", [False, True])
def test_fragments_have_the_layout_that_kernels_rely_on(run, relaxed, turned):
    text = PLACES.replace("RELAXED", str(relaxed).lower()).replace("TURN", str(turned).lower())
    found = {name: np.full((32, 16, 2), -1, np.int32) for name in ("left", "right", "sums")}
    run(text, **found)
    for name, fragments, down in (("left", 1, False), ("right", 2, turned), ("sums", 2, False)):
        for lane in range(32):
            for index in range(8 * fragments):
                fragment, row, column = fragment_places(relaxed, lane, index, fragments)
                row, column = (
                    (row + 16 * fragment, column) if down else (row, column + 16 * fragment)
                )
                assert found[name][lane, index].tolist() == [column, row], (name, lane, index)


def test_capacity_is_a_constant_and_pragmas_unroll_over_it(run):
    text = """
    kernel void f(device float* x) {
      constexpr matmul2d_descriptor shape(16, 16, 16);
      matmul2d<shape, execution_simdgroup> op;
      auto t = tensor(x, dextents<int, 2>(16, 16));
      auto c = op.get_destination_cooperative_tensor<decltype(op), decltype(op), float>();
      float copy[decltype(c)::get_capacity()];
      #pragma unroll(full)
      for (uint16_t i = 0; i < c.get_capacity(); ++i) c[i] = copy[i] = i + 1;
      _Pragma("clang loop unroll(full)")
      for (int i = 0; i < c.get_capacity(); ++i) c[i] += copy[i];
      for (thread auto& each : copy) each = 0;
      c.store(t);
    }"""
    x = run(text, x=np.zeros((16, 16), np.float32))["x"]
    assert sorted(set(x.ravel().tolist())) == [2.0 * i for i in range(1, 9)]


CONVOLUTION = """
kernel void f(device ELEMENT* image, device ELEMENT* weights, device float* bias, device float* y,
              uint2 tile [[threadgroup_position_in_grid]]) {
  constexpr auto shape = convolution2d_descriptor(
      int4(O, TW, TH, 1), int4(C, (TW - 1) * S + (KW - 1) * D + 1, (TH - 1) * S + (KH - 1) * D + 1, 1),
      int2(KW, KH), convolution2d_activation_layout::nhwc, convolution2d_weights_layout::hwio,
      int2(S, S), int2(D, D), 1, false, convolution2d_descriptor::mode::multiply);
  convolution2d<shape, execution_simdgroups<GROUPS>> op;
  auto A = tensor(image, extents<int32_t, C, W, H, 1>());
  auto B = tensor(weights, extents<int32_t, O, C, KW, KH>());
  auto Y = tensor(y, extents<int32_t, O, OW, OH, 1>());
  op.set_offsets(int2(tile.x * TW * S - P + ((KW - 1) * D + 1) / 2,
                      tile.y * TH * S - P + ((KH - 1) * D + 1) / 2));
  auto sums = op.get_destination_cooperative_tensor<decltype(A), decltype(B), float>();
  op.run(A, B, sums);
  for (int i = 0; i < sums.get_capacity(); ++i) {
    if (sums.is_valid_element(i)) sums[i] += bias[sums.get_multidimensional_index(i)[0]];
  }
  auto target = Y.slice(0, tile.x * TW, tile.y * TH, 0);
  sums.store(target);
}
"""


@pytest.mark.parametrize(
    ("kernel", "stride", "dilation", "pad"),
    [((3, 3), 1, 1, 1), ((1, 1), 1, 1, 0), ((5, 3), 2, 1, 2), ((3, 2), 1, 2, 1), ((2, 4), 2, 1, 0)],
)
@pytest.mark.parametrize("element", ["half", "float"])
def test_convolution2d(run, kernel, stride, dilation, pad, element):
    height, width, inputs, outputs = 11, 13, 5, 20
    kh, kw = kernel
    dtype = np.float16 if element == "half" else np.float32
    image = integers(height, width, inputs, dtype=dtype)
    weights = integers(kh, kw, inputs, outputs, seed=1, dtype=dtype)
    bias = integers(outputs, seed=2)
    oh = (height + 2 * pad - (kh - 1) * dilation - 1) // stride + 1
    ow = (width + 2 * pad - (kw - 1) * dilation - 1) // stride + 1
    y = np.full((oh, ow, outputs), 77, np.float32)
    sizes = {"ELEMENT": element, "GROUPS": 2, "TW": 4, "TH": 3, "KW": kw, "KH": kh, "OW": ow}
    sizes |= {"OH": oh, "O": outputs, "C": inputs, "W": width, "H": height, "S": stride}
    sizes |= {"D": dilation, "P": pad}
    text = CONVOLUTION
    for name, value in sizes.items():
        text = re.sub(rf"\b{name}\b", str(value), text)
    tiles = (-(-ow // 4), -(-oh // 3))
    run(text, threads=64, groups=tiles, image=image, weights=weights, bias=bias, y=y)
    padded = np.pad(image.astype(np.float64), ((pad, pad), (pad, pad), (0, 0)))
    want = np.zeros((oh, ow, outputs)) + bias
    for j in range(kh):
        for i in range(kw):
            down, along = j * dilation, i * dilation
            part = padded[down : down + (oh - 1) * stride + 1 : stride]
            part = part[:, along : along + (ow - 1) * stride + 1 : stride]
            want += part @ weights[j, i].astype(np.float64)
    assert (y == want).all()


FOUR_BITS = """
kernel void f(device ELEMENT* x, device uchar* w, device SUM* y) {
  constexpr matmul2d_descriptor shape(16, 32, dynamic_length_v<int>, false, TURN, true);
  matmul2d<shape, execution_simdgroups<2>> op;
  auto X = tensor(x, dextents<int32_t, 2>(K, 16));
  tensor<device FORMAT, dextents<int32_t, 2>, tensor_inline> W(
      w, TURN ? dextents<int32_t, 2>(K, 32) : dextents<int32_t, 2>(32, K));
  auto Y = tensor(y, dextents<int32_t, 2>(32, 16));
  auto part = W.slice(0, 0);
  op.run(X, part, Y);
}
"""


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("name", ["int4b_format", "uint4b_format"])
@pytest.mark.parametrize(("element", "total"), [("half", "float"), ("char", "int")])
def test_matmul2d_of_elements_of_four_bits(run, turned, name, element, total):
    k = 40
    dtype = np.float16 if element == "half" else np.int8
    x = integers(16, k, dtype=dtype)
    least = -8 if name == "int4b_format" else 0
    w = np.random.default_rng(3).integers(least, least + 16, (32, k) if turned else (k, 32))
    nibbles = (w & 15).astype(np.uint8).ravel()
    packed = nibbles[0::2] | nibbles[1::2] << 4
    y = np.zeros((16, 32), np.float32 if total == "float" else np.int32)
    words = {"ELEMENT": element, "SUM": total, "FORMAT": name, "K": k, "TURN": str(turned).lower()}
    text = FOUR_BITS
    for word, value in words.items():
        text = re.sub(rf"\b{word}\b", str(value), text)
    run(text, threads=64, x=x, w=packed, y=y)
    assert (y == x.astype(np.float64) @ (w.T if turned else w)).all()


# A tile of a product that is staged in threadgroup memory, in a loop over k, as llama.cpp writes it.
STAGED = """
kernel void f(device half* a, device half* b, device float* c, constant int3& size,
              uint2 tile [[threadgroup_position_in_grid]],
              ushort t [[thread_index_in_threadgroup]]) {
  threadgroup half sa[64 * 32], sb[32 * 32];
  const int M = size.x, N = size.y, K = size.z;
  const int ra = tile.y * 64, rb = tile.x * 32;
  auto tA = tensor(sa, dextents<int32_t, 2>(32, 64), array<int, 2>({1, 32}));
  auto tB = tensor(sb, dextents<int32_t, 2>(32, 32));
  auto tC = tensor(c, dextents<int32_t, 2>(N, M), array<int, 2>({1, N}));
  matmul2d<matmul2d_descriptor(64, 32, static_cast<int>(dynamic_extent), false, true, true,
                               matmul2d_descriptor::mode::multiply_accumulate),
           execution_simdgroups<4>> mm;
  auto cT = mm.get_destination_cooperative_tensor<decltype(tA), decltype(tB), float>();
  for (int i = 0; i < cT.get_capacity(); ++i) cT[i] = 0;
  for (int k = 0; k < K; k += 32) {
    for (int i = t; i < 64 * 32; i += 128) {
      const int row = ra + i / 32, at = k + i % 32;
      sa[i] = row < M && at < K ? a[row * K + at] : half(0);
    }
    for (int i = t; i < 32 * 32; i += 128) {
      const int row = rb + i / 32, at = k + i % 32;
      sb[i] = row < N && at < K ? b[row * K + at] : half(0);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    auto mA = tA.slice(0, 0), mB = tB.slice(0, 0);
    mm.run(mA, mB, cT);
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  cT.store(tC.slice(rb, ra));
}
"""


def test_a_product_staged_in_threadgroup_memory(run):
    m, n, k = 100, 50, 70
    a, b = integers(m, k, dtype=np.float16), integers(n, k, seed=1, dtype=np.float16)
    c = np.zeros((m, n), np.float32)
    run(STAGED, threads=128, groups=(2, 2), a=a, b=b, c=c, size=np.array([m, n, k, 0], np.int32))
    assert (c == a.astype(np.float64) @ b.astype(np.float64).T).all()


# Attention of one SIMD-group with a running maximum.
ATTENTION = """
kernel void f(device half* q, device half* k, device half* v, device float* out, constant int& n) {
  constexpr int R = 16, B = 32, E = 32;
  constexpr matmul2d_descriptor qk(R, B, E, false, true, false, matmul2d_descriptor::mode::multiply);
  constexpr matmul2d_descriptor pv(R, E, B, false, false, false,
                                   matmul2d_descriptor::mode::multiply_accumulate);
  matmul2d<qk, execution_simdgroup> scores;
  matmul2d<pv, execution_simdgroup> weighted;
  auto Q = tensor(q, dextents<int, 2>(E, R)), K = tensor(k, dextents<int, 2>(E, n));
  auto V = tensor(v, dextents<int, 2>(E, n));
  using QT = decltype(Q);
  auto s = scores.get_destination_cooperative_tensor<QT, QT, float>();
  auto o = weighted.get_destination_cooperative_tensor<QT, QT, float>();
  auto most = scores.get_row_reduction_destination_cooperative_tensor<QT, QT, float>();
  auto now = scores.get_row_reduction_destination_cooperative_tensor<QT, QT, float>();
  auto sum = scores.get_row_reduction_destination_cooperative_tensor<QT, QT, float>();
  auto part = scores.get_row_reduction_destination_cooperative_tensor<QT, QT, float>();
  for (int i = 0; i < o.get_capacity(); ++i) o[i] = 0;
  for (int i = 0; i < most.get_capacity(); ++i) { most[i] = -INFINITY; sum[i] = 0; }
  threadgroup half staged[R * B];
  threadgroup float scale[R];
  auto P = tensor(staged, dextents<int, 2>(B, R));
  auto S = tensor(scale, dextents<int, 1>(R));
  for (int first = 0; first < n; first += B) {
    auto Kb = K.slice(0, first), Vb = V.slice(0, first);
    scores.run(Q, Kb, s);
    for (auto at = s.begin(); at != s.end(); ++at) {
      *at = at.get_multidimensional_index()[0] + first < n ? *at * 0.125f : -INFINITY;
    }
    reduce_rows(s, now, reduction_operation::max, -INFINITY);
    for (int i = 0; i < now.get_capacity(); ++i) now[i] = max(now[i], most[i]);
    for (auto at = s.begin(); at != s.end(); ++at) *at = exp(*at - *now.map_iterator(at));
    reduce_rows(s, part);
    for (int i = 0; i < now.get_capacity(); ++i) {
      most[i] = exp(most[i] - now[i]);  // the factor of what is already summed
      sum[i] = sum[i] * most[i] + part[i];
    }
    most.store(S);
    auto p = scores.get_destination_cooperative_tensor<QT, QT, half>();
    for (int i = 0; i < s.get_capacity(); ++i) p[i] = half(s[i]);
    p.store(P);
    simdgroup_barrier(mem_flags::mem_threadgroup);
    for (int i = 0; i < o.get_capacity(); ++i) {
      if (o.is_valid_element(i)) o[i] *= scale[o.get_multidimensional_index(i)[1]];
    }
    weighted.run(P, Vb, o);
    simdgroup_barrier(mem_flags::mem_threadgroup);
    for (int i = 0; i < now.get_capacity(); ++i) most[i] = now[i];
  }
  sum.store(S);
  simdgroup_barrier(mem_flags::mem_threadgroup);
  for (int i = 0; i < o.get_capacity(); ++i) {
    if (o.is_valid_element(i)) o[i] /= scale[o.get_multidimensional_index(i)[1]];
  }
  o.store(tensor(out, dextents<int, 2>(E, R)));
}
"""


@pytest.mark.parametrize("layout", range(4))
def test_attention_with_reductions(run, layout):
    n = 75
    q, k, v = (
        integers(*shape, seed=i, dtype=np.float16)
        for i, shape in enumerate([(16, 32), (n, 32), (n, 32)])
    )
    out = np.zeros((16, 32), np.float32)
    run(ATTENTION, layout=layout, q=q, k=k, v=v, out=out, n=np.int32(n))
    wide = [each.astype(np.float64) for each in (q, k, v)]
    scores = wide[0] @ wide[1].T * 0.125
    weights = np.exp(scores - scores.max(1, keepdims=True))
    want = weights @ wide[2] / weights.sum(1, keepdims=True)
    # Weights are at most 1 and rounded to half.
    np.testing.assert_allclose(out, want, rtol=0, atol=3 * 2.0**-11 * 3)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "auto c = op.get_destination_cooperative_tensor<decltype(t), decltype(t), char>();",
            "matmul2d has no product of these element types",
        ),
        (
            "auto c = op.get_left_input_cooperative_tensor<float, float, float>();",
            "cooperative inputs need a descriptor with a constant k",
        ),
        ("x[0] = t[1];", "one index for each dimension of the tensor"),
        (
            "auto c = op.get_destination_cooperative_tensor<decltype(t), decltype(t), half>();"
            "c.store(t);",
            "the tensor and the cooperative tensor have different element types",
        ),
    ],
)
def test_wrong_uses_of_tensors_are_explained(cpu, body, message):
    text = f"""{HEADER}kernel void f(device float* x) {{
      constexpr matmul2d_descriptor shape(16, 16);
      matmul2d<shape, execution_simdgroup> op;
      auto t = tensor(x, dextents<int, 2>(16, 16));
      {body}
    }}"""
    with pytest.raises(CompileError, match=re.escape(message)):
        cpu.compile(text, macros=METAL4).pipeline("f")


@pytest.mark.parametrize("tool", ["mem", "init"])
def test_checked_builds_find_defects_of_tensors(cpu, tool):
    body = {
        # The tensor claims a row more than the buffer has.
        "mem": "auto A = tensor(x, dextents<int, 2>(16, 17)).slice(0, 1); op.run(A, t, c);",
        # A cooperative tensor is not initialised at its construction.
        "init": "c[0] = 0; op.run(t, t, c);",
    }[tool]
    text = f"""{HEADER}kernel void f(device float* x, device float* y, device float* z) {{
      constexpr matmul2d_descriptor shape(16, 16, 16, false, false, false,
                                          matmul2d_descriptor::mode::multiply_accumulate);
      matmul2d<shape, execution_simdgroup> op;
      auto t = tensor(y, dextents<int, 2>(16, 16)), all = tensor(z, dextents<int, 2>(16, 16));
      auto c = op.get_destination_cooperative_tensor<decltype(t), decltype(t), float>();
      {"for (int i = 0; i < c.get_capacity(); ++i) c[i] = 0;" if tool == "mem" else ""}
      {body}
      c.store(all);
    }}"""
    library = cpu.compile(text, macros=METAL4, checked=True, tools=[tool])
    arrays = {name: np.zeros((16, 16), np.float32) for name in "xyz"}
    dispatch = _core.Dispatch(library.pipeline("f"), arrays, threadgroups=1, threads=32)
    rules = {each.rule for each in cpu.check([dispatch], time_limit=60.0)}
    assert rules == {{"mem": "out-of-bounds", "init": "uninitialised"}[tool]}
