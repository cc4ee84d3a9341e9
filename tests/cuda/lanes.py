"""The lanes of a warp, as 32 threads, for code that GPUs run and that uses tensor cores."""

from __future__ import annotations

import ctypes
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import ml_dtypes
import numpy as np

from metalbench.msl.toolchain.clang import COMMON_FLAGS, METAL4_FLAGS, find_toolchain

LANES = 32
DTYPES = {"half": np.float16, "bfloat": ml_dtypes.bfloat16, "float": np.float32}
# What tensor cores and shuffles do is asked of the threads. A source has it before its function
# `product(left, right, sums)`, and `#include`s before it.
EXCHANGES = """
using mb::u32;
#define EXPORT __attribute__((visibility("default")))
extern "C" {
EXPORT u32 (*own_lane)();
EXPORT u32 (*exchange)(u32, u32);
EXPORT void (*add)(float*, const u32*, u32);
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
u32 mb_matrix_word(const void* source, long stride, bool transpose) {
  const u32 lane = own_lane();
  const auto* const words = static_cast<const unsigned short*>(source);
  u32 word = 0;
  for (u32 i = 0; i < 2; ++i) {
    const long row = lane / 4, column = lane % 4 * 2 + i;
    word |= u32(words[transpose ? column * stride + row : row * stride + column]) << 16 * i;
  }
  return word;
}
}
"""


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


def build(source: str, folder: Path, **macros: object) -> ctypes.CDLL:
    """Compile a source for this machine."""
    tools, built = find_toolchain(), folder / "product.so"
    command = [*tools.clang, "-x", "c++", *COMMON_FLAGS, *METAL4_FLAGS, *tools.target.compiler]
    command += ["-DMB_VECTOR=1", "-O1", *(f"-D{name}={value}" for name, value in macros.items())]
    command += [*tools.include_flags, "-c", "-", "-o", str(folder / "product.o")]
    subprocess.run(command, input=source, text=True, check=True)
    link = [*tools.linker, "-shared", "-o", str(built), str(folder / "product.o")]
    subprocess.run(link, check=True)
    return ctypes.CDLL(str(built))
