// Tensor core operations of a warp on matrices of 8 x 8 elements, of which each lane holds two:
// 16-bit elements in one word, floats as sums of TF32 numbers. Clang has no builtin for it: the
// functions below are calls in LLVM IR, and metalbench/msl/transforms/tensor_cores.py combines
// adjacent calls to one instruction.
#pragma once

#include "../names.h"

namespace mb {

struct Sums {
  float x, y;
};

// Words of two TF32 numbers: a significand of 11 bits, and the exponent range of float.
struct Parts {
  u32 high, low;
};

// Split a float into parts. An instruction reads the upper 19 bits of a word; the sum of the parts
// is then within 2^-23 of the float. Numbers that would round to infinity, infinity itself and a
// quiet NaN have their upper bits only.
MB_FUNC Parts parts_of(float x) {
  const bool is_usual = __builtin_fabsf(x) < 0x1.ffep127f;
  const u32 bits = __builtin_bit_cast(u32, x);
  const u32 high = (bits + 0x1000) & 0xffffe000;
  const float low = x - __builtin_bit_cast(float, high);
  return {is_usual ? high : bits, is_usual ? __builtin_bit_cast(u32, low) : 0};
}

#ifdef __NVPTX__

MB_FUNC u32 transposed(u32 word) {
  u32 other;
  asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(other) : "r"(word));
  return other;
}

#else

// For CPUs that emulate a GPU, without tensor cores.
u32 transposed(u32 word);

#endif

}  // namespace mb

extern "C" {

// Return a lane's word of the matrix at `source` with rows `stride` elements apart, or of its
// transpose.
[[gnu::pure, gnu::nothrow]] MB_EMITTED mb::u32 mb_matrix_word(const void* source, long stride,
                                                              bool transpose);

// Return a lane's two sums plus its elements of the product, from the words of the left matrix and
// of the transposed right one.
[[gnu::const, gnu::nothrow]] MB_EMITTED mb::Sums mb_add_halves(float x, float y, mb::u32 left,
                                                               mb::u32 right);
[[gnu::const, gnu::nothrow]] MB_EMITTED mb::Sums mb_add_bfloats(float x, float y, mb::u32 left,
                                                                mb::u32 right);

// The same for matrices of float, from the parts of the left matrix's two elements, the high parts
// first, and of the transposed right one's. Products of two low parts are omitted: the product of
// two floats is within 2^-21 of the exact one, with a root mean square of 2^-23.
[[gnu::const, gnu::nothrow]] MB_EMITTED mb::Sums mb_add_floats(
    float x, float y, mb::u32 left_high, mb::u32 left_high_2, mb::u32 left_low, mb::u32 left_low_2,
    mb::u32 right_high, mb::u32 right_high_2, mb::u32 right_low, mb::u32 right_low_2);
}
