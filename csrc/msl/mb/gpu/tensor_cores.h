// What a warp's tensor cores do with matrices of 8 x 8 elements of two bytes, of which each lane has
// two in a word. There is no builtin for it.
#pragma once

#include "../names.h"

namespace mb {

#ifdef __NVPTX__

MB_FUNC u32 transposed(u32 word) {
  u32 other;
  asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(other) : "r"(word));
  return other;
}

// A lane's two sums of eight products. They have 16 rows: ours and eight of zeros.
MB_FUNC void multiply_halves(float (&sum)[2], u32 row, u32 column) {
  float unused[2];
  asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
      "{%7, %7, %7, %7};"
      : "=f"(sum[0]), "=f"(sum[1]), "=f"(unused[0]), "=f"(unused[1])
      : "r"(row), "r"(0u), "r"(column), "f"(0.0f));
}

MB_FUNC void multiply_bfloats(float (&sum)[2], u32 row, u32 column) {
  float unused[2];
  asm("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
      "{%7, %7, %7, %7};"
      : "=f"(sum[0]), "=f"(sum[1]), "=f"(unused[0]), "=f"(unused[1])
      : "r"(row), "r"(0u), "r"(column), "f"(0.0f));
}

#else

// Of processors that stand in for a GPU, which have none.
u32 transposed(u32 word);
void multiply_halves(float (&sum)[2], u32 row, u32 column);
void multiply_bfloats(float (&sum)[2], u32 row, u32 column);

#endif

}  // namespace mb
