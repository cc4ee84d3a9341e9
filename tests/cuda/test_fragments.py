"""Products of fragments on tensor cores, by the code that GPUs run: 32 threads are the lanes."""

from __future__ import annotations

import ctypes
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor

import ml_dtypes
import numpy as np
import pytest
from cuda.ptx import check_sound

from metalbench.msl.toolchain.clang import COMMON_FLAGS, METAL4_FLAGS, find_toolchain

LANES = 32
SOURCE = """
#include <mb/prelude.h>
#include <mb/metal4.h>
#include <mb/gpu/tensor_fragments.h>

using mb::u32;
extern "C" {
__attribute__((visibility("default"))) u32 (*own_lane)();
__attribute__((visibility("default"))) u32 (*exchange)(u32, u32);
__attribute__((visibility("default"))) void (*add)(float*, const u32*, u32);
u32 mb_vector_lane() noexcept { return own_lane(); }
u32 mb_vector_shuffle_u32(u32 value, u32 from) noexcept { return exchange(value, from); }
mb::Sums add_words(float x, float y, const u32* words, u32 count) {
  float sums[2] = {x, y};
  add(sums, words, count);
  return {sums[0], sums[1]};
}
mb::Sums mb_add_halves(float x, float y, u32 left, u32 right) {
  const u32 words[] = {left, right};
  return add_words(x, y, words, 2);
}
mb::Sums mb_add_bfloats(float x, float y, u32 left, u32 right) {
  return mb_add_halves(x, y, left, right);
}
mb::Sums mb_add_floats(float x, float y, u32 a, u32 b, u32 c, u32 d, u32 e, u32 f, u32 g, u32 h) {
  const u32 words[] = {a, b, c, d, e, f, g, h};
  return add_words(x, y, words, 8);
}
__attribute__((visibility("default"))) void product(const ELEMENT* left, const ELEMENT* right,
                                                    float* sums) {
  using namespace mpp::tensor_ops;
  constexpr matmul2d_descriptor shape(16, 32, 16, TURN_LEFT, TURN_RIGHT, RELAXED,
                                      matmul2d_descriptor::mode::multiply_accumulate);
  using Scope = metal::execution_simdgroup;
  mb::multiply_fragments<shape, ELEMENT,
                         mb::tensor_layout<shape, Scope, mb::TensorRole::left>::type,
                         mb::tensor_layout<shape, Scope, mb::TensorRole::right>::type,
                         mb::tensor_layout<shape, Scope, mb::TensorRole::destination>::type>(
      left, right, sums);
}
}
"""
DTYPES = {"half": np.float16, "bfloat": ml_dtypes.bfloat16, "float": np.float32}


def place(relaxed: bool, lane: int, index: int, fragments: int) -> tuple[int, int, int]:
    """Return fragment, row and column of an element, as in Metal's kernels (MLX, uzu)."""
    if relaxed:
        quad, element = lane >> 2, index % 8
        row = (quad & 4) | ((lane >> 1) & 3)
        column = ((quad & 2) | (lane & 1)) * 4
        return index // 8, row + 8 * (element >> 2), column + (element & 3)
    fragment, element = index // 4 % fragments, index % 4 + 4 * (index // (4 * fragments))
    row = ((lane >> 1) & 3) + ((lane >> 4) & 1) * 4 + 8 * (element >> 2)
    column = (lane & 1) * 2 + ((lane >> 3) & 1) * 4
    return fragment, row, column + (element & 1) + ((element & 3) >> 1) * 8


def distribute(matrix: np.ndarray, relaxed: bool) -> np.ndarray:
    """Return the elements of each lane: fragments are side by side, or below each other."""
    fragments = matrix.size // 256
    down = matrix.shape[0] > 16
    parts = [matrix[16 * f : 16 * f + 16] if down else matrix[:, 16 * f : 16 * f + 16]
             for f in range(fragments)]  # fmt: skip
    found = np.zeros((LANES, 16), matrix.dtype)
    for lane in range(LANES):
        for index in range(8 * fragments):
            fragment, row, column = place(relaxed, lane, index, fragments)
            found[lane, index] = parts[fragment][row, column]
    return found


class Lanes:
    """Thirty-two threads that exchange words, and multiply 8 x 8 matrices as a tensor core does."""

    def __init__(self, library: ctypes.CDLL, dtype: type) -> None:
        self.dtype = np.dtype(dtype)
        self._local = threading.local()
        self._barrier = threading.Barrier(LANES)
        self._words: list[list[int]] = [[] for _ in range(LANES)]
        u32, pointer = ctypes.c_uint32, ctypes.POINTER
        self._callbacks = (
            ctypes.CFUNCTYPE(u32)(lambda: self._local.lane),
            ctypes.CFUNCTYPE(u32, u32, u32)(lambda value, lane: self.swap([value])[lane][0]),
            ctypes.CFUNCTYPE(None, pointer(ctypes.c_float), pointer(u32), u32)(self.add),
        )
        for name, each in zip(("own_lane", "exchange", "add"), self._callbacks, strict=True):
            ctypes.c_void_p.in_dll(library, name).value = ctypes.cast(each, ctypes.c_void_p).value
        self._library = library

    def swap(self, words: list[int]) -> list[list[int]]:
        """Return the words of all lanes."""
        self._words[self._local.lane] = words
        self._barrier.wait(30)
        found = list(self._words)
        self._barrier.wait(30)
        return found

    def add(self, sums, words, count: int) -> None:
        """Add this lane's two elements of the product of the lanes' pairs."""
        lanes = self.swap([words[i] for i in range(count)])
        factors = []
        for side in range(2):
            raw = np.array(lanes, np.uint32)[:, side * count // 2 : (side + 1) * count // 2]
            if self.dtype == np.float32:
                high, low = raw[:, :2].view(np.float32), raw[:, 2:].copy().view(np.float32)
                pairs = high.astype(np.float64) + low
            else:
                pairs = np.ascontiguousarray(raw).view(self.dtype).astype(np.float64)
            factors.append(pairs.reshape(8, 8))
        product = factors[0] @ factors[1].T
        lane = self._local.lane
        for i in range(2):
            sums[i] += product[lane // 4, lane % 4 * 2 + i]

    def run(self, left: np.ndarray, right: np.ndarray, sums: np.ndarray) -> None:
        """Run the code of all lanes. `sums` is updated."""

        def one(lane: int) -> None:
            self._local.lane = lane
            self._library.product(*(each[lane].ctypes.data_as(ctypes.c_void_p)
                                    for each in (left, right, sums)))  # fmt: skip

        with ThreadPoolExecutor(LANES) as pool:
            list(pool.map(one, range(LANES)))


@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize(("turn_left", "turn_right"), [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_multiply_fragments(tmp_path, element, relaxed, turn_left, turn_right):
    tools, built = find_toolchain(), tmp_path / "product.so"
    flags = {"ELEMENT": element, "TURN_LEFT": turn_left, "TURN_RIGHT": turn_right}
    flags |= {"RELAXED": int(relaxed)}
    compile_ = [*tools.clang, "-x", "c++", *COMMON_FLAGS, *METAL4_FLAGS, *tools.target.compiler]
    compile_ += ["-DMB_VECTOR=1", "-O1", *(f"-D{name}={value}" for name, value in flags.items())]
    compile_ += [*tools.include_flags, "-c", "-", "-o", str(tmp_path / "product.o")]
    subprocess.run(compile_, input=SOURCE, text=True, check=True)
    link = [*tools.linker, "-shared", "-o", str(built), str(tmp_path / "product.o")]
    subprocess.run(link, check=True)
    generator, dtype = np.random.default_rng(0), DTYPES[element]
    a, b = generator.integers(-3, 4, (16, 16)), generator.integers(-3, 4, (16, 32))
    c = generator.integers(-3, 4, (16, 32)).astype(np.float32)
    left, right = (
        distribute(np.ascontiguousarray(each.T if turn else each).astype(dtype), relaxed)
        for each, turn in ((a, turn_left), (b, turn_right))
    )
    sums = distribute(c, relaxed)
    Lanes(ctypes.CDLL(str(built)), dtype).run(left, right, sums)
    assert (sums == distribute((c + a @ b).astype(np.float32), relaxed)).all()


KERNEL = """
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace mpp::tensor_ops;
kernel void k(device const ELEMENT* x, device float* y, uint lane [[thread_index_in_simdgroup]]) {
  constexpr auto shape = matmul2d_descriptor(16, 32, 16, false, true, true,
                                             matmul2d_descriptor::mode::multiply_accumulate);
  matmul2d<shape, execution_simdgroup> op;
  auto a = op.get_left_input_cooperative_tensor<ELEMENT, ELEMENT, float>();
  auto b = op.get_right_input_cooperative_tensor<ELEMENT, ELEMENT, float>();
  auto c = op.get_destination_cooperative_tensor<decltype(a), decltype(b), float>();
  for (int i = 0; i < 8; ++i) a[i] = x[8 * lane + i];
  for (int i = 0; i < 16; ++i) { b[i] = x[16 * lane + i + 256]; c[i] = 0; }
  op.run(a, b, c);
  for (int i = 0; i < 16; ++i) y[16 * lane + i] = c[i];
}
"""


@pytest.mark.parametrize(
    ("element", "instruction", "count"),
    [("half", "m16n8k16.row.col.f32.f16.f16.f32", 4), ("float", "m16n8k8.row.col.f32.tf32", 24)],
)
def test_fragments_are_multiplied_by_tensor_cores(ptx_of, element, instruction, count):
    ptx = ptx_of(KERNEL.replace("ELEMENT", element), macros={"__METAL_VERSION__": "400"})
    check_sound(ptx, assemble=True)
    products = [line for line in ptx.code() if line.startswith("mma.sync")]
    assert len(products) == count
    assert all(f"mma.sync.aligned.{instruction}" in line for line in products)
