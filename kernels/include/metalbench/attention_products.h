// What attention.h multiplies: matrices of eight queries with keys in threadgroup memory, and their
// weights with values. Rows of keys and values are Pitch elements apart, those of scores
// ScorePitch. Products go in steps of four blocks of dims by as many of keys, of which no sum waits
// for another.
#pragma once
#include <metal_simdgroup_matrix>
#include <metal_stdlib>

#include "metalbench/attention_rows.h"
#include "metalbench/inlined.h"
#include "metalbench/quads.h"

namespace metalbench {

using namespace metal;

// 8 x 8 matrices of dims.
constant constexpr uint kAttentionStep = 4;

// Adds to the scores of the first 8 * KeyBlocks keys, by the first `blocks` matrices of a query's
// dims.
template <uint Pitch, uint KeyBlocks, typename T, uint MaxBlocks>
INLINED inline void add_scores(thread simdgroup_float8x8 (&sums)[KeyBlocks],
                               thread const simdgroup_matrix<T, 8, 8> (&query)[MaxBlocks],
                               uint blocks, threadgroup const T* keys) {
  UNROLLED
  for (uint step = 0; step < MaxBlocks; step += kAttentionStep) {
    if (step < blocks) {
      UNROLLED
      for (uint j = step; j < step + kAttentionStep; ++j) {
        UNROLLED
        for (uint c = 0; c < KeyBlocks; ++c) {
          simdgroup_matrix<T, 8, 8> key;
          simdgroup_load(key, keys + 8 * c * Pitch + 8 * j, Pitch, ulong2(0), true);
          simdgroup_multiply_accumulate(sums[c], query[j], key, sums[c]);
        }
      }
    }
  }
}

// The same of queries in threadgroup memory, whose rows are QueryPitch elements apart.
template <uint Pitch, uint QueryPitch, uint MaxBlocks, typename T, uint KeyBlocks>
INLINED inline void add_scores(thread simdgroup_float8x8 (&sums)[KeyBlocks],
                               threadgroup const T* queries, uint blocks,
                               threadgroup const T* keys) {
  UNROLLED
  for (uint step = 0; step < MaxBlocks; step += kAttentionStep) {
    if (step < blocks) {
      UNROLLED
      for (uint j = step; j < step + kAttentionStep; ++j) {
        simdgroup_matrix<T, 8, 8> query;
        simdgroup_load(query, queries + 8 * j, QueryPitch);
        UNROLLED
        for (uint c = 0; c < KeyBlocks; ++c) {
          simdgroup_matrix<T, 8, 8> key;
          simdgroup_load(key, keys + 8 * c * Pitch + 8 * j, Pitch, ulong2(0), true);
          simdgroup_multiply_accumulate(sums[c], query, key, sums[c]);
        }
      }
    }
  }
}

// The scores of the first 8 * KeyBlocks keys to threadgroup memory.
template <uint Pitch, uint ScorePitch, uint KeyBlocks, typename T, uint MaxBlocks>
INLINED inline void score_keys(thread const simdgroup_matrix<T, 8, 8> (&query)[MaxBlocks],
                               uint blocks, threadgroup const T* keys, threadgroup float* scores) {
  simdgroup_float8x8 sums[KeyBlocks];
  UNROLLED
  for (uint c = 0; c < KeyBlocks; ++c) {
    sums[c] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
  }
  add_scores<Pitch>(sums, query, blocks, keys);
  UNROLLED
  for (uint c = 0; c < KeyBlocks; ++c) {
    simdgroup_store(sums[c], scores + 8 * c, ScorePitch);
  }
}

// Adds values by the weights of Keys keys, in the first `blocks` matrices of their dims. Weights
// are where scores were, eight neighbouring ones at the begin of the place of their eight scores.
template <uint Pitch, uint ScorePitch, uint Keys, typename T, uint MaxBlocks>
INLINED inline void gather_values(thread simdgroup_float8x8 (&out)[MaxBlocks], uint blocks,
                                  threadgroup const T* values, threadgroup const float* weights) {
  constexpr uint of_score = sizeof(float) / sizeof(T);
  UNROLLED
  for (uint step = 0; step < MaxBlocks; step += kAttentionStep) {
    if (step < blocks) {
      UNROLLED
      for (uint c = 0; c < Keys; c += 8) {
        simdgroup_matrix<T, 8, 8> weight;
        simdgroup_load(weight, (threadgroup const T*)weights + c * of_score, ScorePitch * of_score);
        UNROLLED
        for (uint j = step; j < step + kAttentionStep; ++j) {
          simdgroup_matrix<T, 8, 8> value;
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

// Stores eight rows, `factor` times the first `blocks` matrices, from row `first` and column
// `first_column` of `to` on, 32 columns at a time through a strip of 256 floats: lanes have four
// neighbouring columns each.
template <typename T, uint MaxBlocks>
INLINED inline void store_eight_rows(thread const simdgroup_float8x8 (&out)[MaxBlocks], uint blocks,
                                     threadgroup float* strip, Head<T> to, uint first,
                                     uint first_column, uint cols, uint lane, float factor = 1.0f) {
  const uint row = first + lane / 8;
  const uint column = first_column + 4 * (lane % 8);
  UNROLLED
  for (uint step = 0; step < MaxBlocks; step += kAttentionStep) {
    if (step < blocks) {
      UNROLLED
      for (uint j = 0; j < kAttentionStep; ++j) {
        simdgroup_store(out[step + j], strip + 8 * j, 32);
      }
      simdgroup_barrier(mem_flags::mem_threadgroup);
      UNROLLED
      for (uint i = 0; i < 8; i += 4) {
        if (row + i < to.rows) {
          store_quad(to.data + ulong(row + i) * to.pitch, 8 * step + column, cols,
                     factor * ((threadgroup const float4*)strip)[8 * i + lane]);
        }
      }
      simdgroup_barrier(mem_flags::mem_threadgroup);
    }
  }
}

}  // namespace metalbench
