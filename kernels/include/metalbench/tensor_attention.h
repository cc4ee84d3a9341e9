// Attention of one head by Metal 4's matmul2d, softmax(Q K^T / sqrt(dims)) V in one pass over K and
// V: no score leaves the SIMD-group. A SIMD-group owns 16 queries. Keys pass in blocks of 32, which
// the matrix units read from device memory, as the values. Softmax is online, as in attention.h:
// when the level of a row rises, the output so far shrinks.
//
// Which lane has which score is up to the device. So the level and the sum of a row are cooperative
// tensors, too: reduce_rows makes them, and map_iterator finds the row of a score. The output belongs
// to another product, whose lanes may have other rows. What it needs, the weights and one number a
// row, passes through threadgroup memory.
#pragma once
#include "metalbench/inlined.h"
#include "metalbench/tensor_tiles.h"

namespace metalbench {

// What a SIMD-group passes from one product to the other: weights, and a number for each row.
template <typename T>
struct AttentionExchange {
  T weights[16 * 32];
  float rows[16];
};

// Heads have up to MaxDims dims. A Causal query sees the keys up to itself.
template <typename T, int MaxDims, bool Causal>
struct TensorAttention {
  static constexpr constant int kQueries = 16;
  static constexpr constant int kKeys = 32;
  static constexpr constant matmul2d_descriptor kScores =
      matmul2d_descriptor(kQueries, kKeys, static_cast<int>(dynamic_extent), false, true, false,
                          matmul2d_descriptor::mode::multiply);
  static constexpr constant matmul2d_descriptor kValues =
      matmul2d_descriptor(kQueries, MaxDims, kKeys, false, false, false,
                          matmul2d_descriptor::mode::multiply_accumulate);

  using Weights = tensor<threadgroup T, extents<int32_t, kKeys, kQueries>, tensor_inline>;
  using Rows = tensor<threadgroup float, extents<int32_t, kQueries>, tensor_inline>;

  // The queries from number `first_query` on. All lanes of the SIMD-group call it.
  INLINED static void attend(MatrixTensor<const T> q, MatrixTensor<const T> k,
                             MatrixTensor<const T> v, MatrixTensor<T> y, int first_query,
                             threadgroup AttentionExchange<T>& memory) {
    matmul2d<kScores, execution_simdgroup> score;
    matmul2d<kValues, execution_simdgroup> gather;
    const int keys = k.get_extent(1);
    const int end = Causal ? min(keys, first_query + kQueries) : keys;
    // Exponentials to base two: log2(e) is part of the scale.
    const float scale = 1.44269504f * precise::rsqrt(float(q.get_extent(0)));
    Weights weights(memory.weights, extents<int32_t, kKeys, kQueries>());
    Rows rows(memory.rows, extents<int32_t, kQueries>());

    auto queries = q.slice(0, first_query);
    using Slice = decltype(queries);
    auto level =
        score.template get_row_reduction_destination_cooperative_tensor<Slice, Slice, float>();
    auto sum =
        score.template get_row_reduction_destination_cooperative_tensor<Slice, Slice, float>();
    auto shrink =
        score.template get_row_reduction_destination_cooperative_tensor<Slice, Slice, float>();
#pragma clang loop unroll(full)
    for (ushort i = 0; i < level.get_capacity(); ++i) {
      level[i] = -INFINITY;
      sum[i] = 0;
    }
    auto out = gather.template get_destination_cooperative_tensor<Weights, Slice, float>();
    // A number for each row of the output.
    auto factor = gather.template get_row_reduction_destination_cooperative_tensor<Weights, Slice,
                                                                                   float>();
#pragma clang loop unroll(full)
    for (ushort i = 0; i < out.get_capacity(); ++i) {
      out[i] = 0;
    }

    for (int first = 0; first < end; first += kKeys) {
      auto some_keys = k.slice(0, first);
      auto scores = score.template get_destination_cooperative_tensor<Slice, Slice, float>();
      score.run(queries, some_keys, scores);
      // No query sees less than the first one: most blocks have no key that one does not see.
      if (first + kKeys > (Causal ? min(keys, first_query + 1) : keys)) {
#pragma clang loop unroll(full)
        for (ushort i = 0; i < scores.get_capacity(); ++i) {
          const auto at = scores.get_multidimensional_index(i);
          const int key = first + at[0], query = first_query + at[1];
          scores[i] = key < keys && (!Causal || key <= query) ? scores[i] : -INFINITY;
        }
      }
      // The level follows the largest score once that is 2^8 times as heavy, which loses no digit
      // of a float; so the output is seldom rescaled.
      reduce_rows(scores, shrink, reduction_operation::max, -INFINITY);
      bool has_risen = false;
#pragma clang loop unroll(full)
      for (ushort i = 0; i < level.get_capacity(); ++i) {
        const float old = level[i];
        const bool rises = shrink[i] * scale > old * scale + 8.0f;
        level[i] = rises ? shrink[i] : old;
        shrink[i] = rises ? fast::exp2((old - level[i]) * scale) : 1.0f;
        has_risen = has_risen || rises;
      }
      if (simd_any(has_risen)) {
        shrink.store(rows);
        simdgroup_barrier(mem_flags::mem_threadgroup);
        factor.load(rows);
#pragma clang loop unroll(full)
        for (ushort i = 0; i < out.get_capacity(); ++i) {
          out[i] *= *factor.map_iterator(out.begin() + i);
        }
      }
      // Sums are of the weights as they are rounded.
      auto rounded = score.template get_destination_cooperative_tensor<Slice, Slice, T>();
#pragma clang loop unroll(full)
      for (ushort i = 0; i < scores.get_capacity(); ++i) {
        const float base = *level.map_iterator(scores.begin() + i);
        rounded[i] = T(fast::exp2((scores[i] - base) * scale));
        scores[i] = float(rounded[i]);
      }
#pragma clang loop unroll(full)
      for (ushort i = 0; i < sum.get_capacity(); ++i) {
        sum[i] *= shrink[i];
      }
      reduce_rows(scores, shrink, reduction_operation::sum, 0.0f);
#pragma clang loop unroll(full)
      for (ushort i = 0; i < sum.get_capacity(); ++i) {
        sum[i] += shrink[i];
      }
      rounded.store(weights);
      simdgroup_barrier(mem_flags::mem_threadgroup);
      auto some_values = v.slice(0, first);
      gather.run(weights, some_values, out);
      simdgroup_barrier(mem_flags::mem_threadgroup);
    }

#pragma clang loop unroll(full)
    for (ushort i = 0; i < sum.get_capacity(); ++i) {
      sum[i] = 1.0f / sum[i];
    }
    sum.store(rows);
    simdgroup_barrier(mem_flags::mem_threadgroup);
    factor.load(rows);
    auto results = gather.template get_destination_cooperative_tensor<Weights, Slice, T>();
#pragma clang loop unroll(full)
    for (ushort i = 0; i < out.get_capacity(); ++i) {
      // check: allow registers in float32 the results are the output: 16 x MaxDims in 32 lanes
      results[i] = T(out[i] * *factor.map_iterator(out.begin() + i));
    }
    auto target = y.slice(0, first_query);
    results.store(target);
  }
};

}  // namespace metalbench
