// What attention.h multiplies: matrices of eight queries with keys in threadgroup memory, and their
// weights with values. Rows of keys and values are Pitch elements apart, those of scores
// ScorePitch. Products go in steps of four blocks of dims by as many of keys, of which no sum waits
// for another.
#pragma once
#include <metal_simdgroup_matrix>
#include <metal_stdlib>

#include "metalbench/inlined.h"

namespace metalbench {

using namespace metal;

// 8 x 8 matrices of dims.
constant constexpr uint kAttentionStep = 4;

// The scores of the first 8 * KeyBlocks keys, in the first `blocks` matrices of a query's dims.
template <uint Pitch, uint ScorePitch, uint KeyBlocks, uint MaxBlocks>
INLINED inline void score_keys(thread const simdgroup_float8x8 (&query)[MaxBlocks], uint blocks,
                               threadgroup const float* keys, threadgroup float* scores) {
  simdgroup_float8x8 sums[KeyBlocks];
  UNROLLED
  for (uint c = 0; c < KeyBlocks; ++c) {
    sums[c] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
  }
  for (uint step = 0; step < MaxBlocks; step += kAttentionStep) {
    if (step < blocks) {
      UNROLLED
      for (uint j = step; j < step + kAttentionStep; ++j) {
        UNROLLED
        for (uint c = 0; c < KeyBlocks; ++c) {
          simdgroup_float8x8 key;
          simdgroup_load(key, keys + 8 * c * Pitch + 8 * j, Pitch, ulong2(0), true);
          simdgroup_multiply_accumulate(sums[c], query[j], key, sums[c]);
        }
      }
    }
  }
  UNROLLED
  for (uint c = 0; c < KeyBlocks; ++c) {
    simdgroup_store(sums[c], scores + 8 * c, ScorePitch);
  }
}

// Adds values by the weights of Keys keys, in the first `blocks` matrices of their dims.
template <uint Pitch, uint ScorePitch, uint Keys, uint MaxBlocks>
INLINED inline void gather_values(thread simdgroup_float8x8 (&out)[MaxBlocks], uint blocks,
                                  threadgroup const float* values,
                                  threadgroup const float* weights) {
  UNROLLED
  for (uint step = 0; step < MaxBlocks; step += kAttentionStep) {
    if (step < blocks) {
      UNROLLED
      for (uint c = 0; c < Keys; c += 8) {
        simdgroup_float8x8 weight;
        simdgroup_load(weight, weights + c, ScorePitch);
        UNROLLED
        for (uint j = step; j < step + kAttentionStep; ++j) {
          simdgroup_float8x8 value;
          simdgroup_load(value, values + c * Pitch + 8 * j, Pitch);
          simdgroup_multiply_accumulate(out[j], weight, value, out[j]);
        }
      }
    }
  }
}

// out = diagonal * out, row by row.
template <uint MaxBlocks>
INLINED inline void rescale_rows(thread simdgroup_float8x8 (&out)[MaxBlocks], uint blocks,
                                 threadgroup const float* diagonal) {
  simdgroup_float8x8 factor;
  simdgroup_load(factor, diagonal, 8);
  UNROLLED
  for (uint j = 0; j < MaxBlocks; ++j) {
    if (j < blocks) {
      const simdgroup_float8x8 old = out[j];
      simdgroup_multiply(out[j], factor, old);
    }
  }
}

}  // namespace metalbench
