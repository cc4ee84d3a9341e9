// What a warp's tensor cores do with matrices of 8 x 8 elements of two bytes, of which each lane has
// two in a word. There is no builtin for it: the functions below are calls in LLVM's IR, whose
// neighbours become one instruction in metalbench/msl/emission/tensor_cores.py.
#pragma once

#include "../names.h"

namespace mb {

struct Sums {
  float x, y;
};

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

// A lane's word of the matrix at `source`, whose rows are `stride` elements apart, or of that matrix
// transposed.
[[gnu::pure, gnu::nothrow]] MB_EMITTED mb::u32 mb_matrix_word(const void* source, long stride,
                                                              bool transpose);

// A lane's two sums and what a product of matrices adds to them, of the words of the left one and of
// the right one transposed.
[[gnu::const, gnu::nothrow]] MB_EMITTED mb::Sums mb_add_halves(float x, float y, mb::u32 left,
                                                               mb::u32 right);
[[gnu::const, gnu::nothrow]] MB_EMITTED mb::Sums mb_add_bfloats(float x, float y, mb::u32 left,
                                                                mb::u32 right);
}
