// What a warp's tensor cores do with matrices of 8 x 8 elements, of which each lane has two: of two
// bytes in a word, of float as sums of numbers that tensor cores know. There is no builtin for it:
// the functions below are calls in LLVM's IR, whose neighbours become one instruction in
// metalbench/msl/transforms/tensor_cores.py.
#pragma once

#include "../names.h"

namespace mb {

struct Sums {
  float x, y;
};

// Words of two numbers of TF32, which has 11 bits of a significand, and the exponents of float.
struct Parts {
  u32 high, low;
};

// The parts of a float. An instruction takes the upper 19 bits of a word, and their sum is then
// within 2^-23 of the float. What would round to infinity has its upper bits alone, and so have
// infinity and a quiet NaN.
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

// Of processors that stand in for a GPU, which have none.
u32 transposed(u32 word);

#endif

}  // namespace mb

extern "C" {

// A lane's word of the matrix at `source`, whose rows are `stride` elements apart, or of that
// matrix transposed.
[[gnu::pure, gnu::nothrow]] MB_EMITTED mb::u32 mb_matrix_word(const void* source, long stride,
                                                              bool transpose);

// A lane's two sums and what a product of matrices adds to them, of the words of the left one and
// of the right one transposed.
[[gnu::const, gnu::nothrow]] MB_EMITTED mb::Sums mb_add_halves(float x, float y, mb::u32 left,
                                                               mb::u32 right);
[[gnu::const, gnu::nothrow]] MB_EMITTED mb::Sums mb_add_bfloats(float x, float y, mb::u32 left,
                                                                mb::u32 right);

// The same of matrices of float, by the parts of the left one's two elements, the high ones first,
// and of the right one's transposed. Products of low parts are left out: that of two floats is
// within 2^-21 of the exact one, in the root of the mean of squares 2^-23.
[[gnu::const, gnu::nothrow]] MB_EMITTED mb::Sums mb_add_floats(
    float x, float y, mb::u32 left_high, mb::u32 left_high_2, mb::u32 left_low, mb::u32 left_low_2,
    mb::u32 right_high, mb::u32 right_high_2, mb::u32 right_low, mb::u32 right_low_2);
}
