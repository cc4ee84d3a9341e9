// Triangular systems and factors, Height rows at a time. A thread has a column of these rows in
// registers. First it sums the products with all rows above, whose coefficients pass through
// threadgroup memory; then it eliminates the unknowns of the triangle on the diagonal.
#pragma once
#include <metal_stdlib>

#include "metalbench/inlined.h"

namespace metalbench {

using namespace metal;

// Coefficients that multiply rows above: of row m above and row j of the block, element (j, m) of a
// lower triangle or (m, j) of an upper one.
struct LowerRows {
  static constant constexpr bool kAreRows = true;
  device const float* block;  // the first row of the block
  uint pitch;
  float operator()(uint j, uint m) const { return block[j * pitch + m]; }
};
struct UpperColumns {
  static constant constexpr bool kAreRows = false;
  device const float* block;  // the first column of the block
  uint pitch;
  float operator()(uint j, uint m) const { return block[m * pitch + j]; }
};

template <uint Height>
struct BlockRows {
  static constant constexpr uint kDepth = 32;          // rows above that pass at a time
  static constant constexpr uint kPitch = Height + 4;  // spreads neighbours over the banks

  struct Memory {
    float4 passing[kDepth * kPitch / 4];
    float corner[Height][Height];  // [r][s]: the coefficient of unknown r in equation s > r
    float diagonal[Height];
  };

  // Subtracts from a column of the block its products with `above` rows, in `finished` (the
  // column's first element). Only `heights` rows of the block are there.
  template <typename Coefficients>
  INLINED static void multiply(thread float (&sums)[Height], device const float* finished,
                               uint pitch, uint above, uint heights, Coefficients coefficients,
                               threadgroup Memory& memory, uint thread_index, uint threads) {
    UNROLLED
    for (uint j = 0; j < Height; ++j) {
      sums[j] = 0.0f;
    }
    threadgroup float* passing = (threadgroup float*)memory.passing;
    for (uint start = 0; start < above; start += kDepth) {
      const uint depth = min(kDepth, above - start);
      for (uint i = thread_index; i < kDepth * Height; i += threads) {
        const uint j = Coefficients::kAreRows ? i / kDepth : i % Height;
        const uint m = Coefficients::kAreRows ? i % kDepth : i / Height;
        const bool is_there = j < heights && m < depth;
        passing[m * kPitch + j] = is_there ? coefficients(j, start + m) : 0.0f;
      }
      threadgroup_barrier(mem_flags::mem_threadgroup);
      for (uint m = 0; m < depth; ++m) {
        const float value = finished[(start + m) * pitch];
        UNROLLED
        for (uint j = 0; j < Height; j += 4) {
          const float4 factors = memory.passing[(m * kPitch + j) / 4];
          UNROLLED
          for (uint i = 0; i < 4; ++i) {
            sums[j + i] = fma(factors[i], value, sums[j + i]);
          }
        }
      }
      threadgroup_barrier(mem_flags::mem_threadgroup);
    }
  }

  // Solves the triangle of the block for a column.
  INLINED static void solve(thread float (&column)[Height], threadgroup const Memory& memory) {
    UNROLLED
    for (uint s = 0; s < Height; ++s) {
      float sum = column[s];
      UNROLLED
      for (uint r = 0; r < s; ++r) {
        sum = fma(-memory.corner[r][s], column[r], sum);
      }
      // A factor of 1 / diagonal would round once more.
      // check: allow registers the triangle is solved once for many products
      column[s] = sum / memory.diagonal[s];
    }
  }
};

}  // namespace metalbench
