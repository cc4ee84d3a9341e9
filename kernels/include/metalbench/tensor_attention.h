// Attention of one head by Metal 4's matmul2d, softmax(Q K^T / sqrt(dims)) V in one pass over K and
// V: no score leaves the SIMD-group. A SIMD-group owns 16 queries. Keys pass in blocks. Softmax is
// online, as in attention.h: when the level of a row rises, the output so far shrinks.
//
// Which lane has which score is up to the device. So the level and the sum of a row are cooperative
// tensors, too: reduce_rows makes them, and map_iterator finds the row of a score. The output
// belongs to another product, whose lanes may have other rows: one number a row passes through
// threadgroup memory. The weights do so, too, unless the scores have the layout of a left input.
//
// TensorAttention reads blocks of keys and values from device memory into the matrix units.
// StagedTensorAttention is for GPUs whose matrix units read threadgroup memory much faster: the
// SIMD-groups of a threadgroup share a tile of each, and ask for the next ones ahead.
#pragma once
#include "metalbench/attention_rows.h"
#include "metalbench/inlined.h"
#include "metalbench/tensor_tiles.h"

namespace metalbench {

// What a SIMD-group passes from one product to the other: weights, and a number for each row.
template <typename T, int Keys = 32>
struct AttentionExchange {
  T weights[16 * Keys];
  float rows[16];
};

// The softmax and the output of 16 queries. Heads have up to MaxDims dims, blocks have Keys keys.
// `Queries`, `BlockKeys` and `BlockValues` are the operands: tensors or cooperative tensors.
template <typename T, int MaxDims, int Keys, bool StaticDims, typename Queries, typename BlockKeys,
          typename BlockValues>
struct OnlineAttention {
  static constexpr constant int kQueries = 16;
  static constexpr constant matmul2d_descriptor kScores =
      matmul2d_descriptor(kQueries, Keys, StaticDims ? MaxDims : static_cast<int>(dynamic_extent),
                          false, true, false, matmul2d_descriptor::mode::multiply);
  static constexpr constant matmul2d_descriptor kValues = matmul2d_descriptor(
      kQueries, MaxDims, Keys, false, false, false, matmul2d_descriptor::mode::multiply_accumulate);
  using Score = matmul2d<kScores, execution_simdgroup>;
  using Gather = matmul2d<kValues, execution_simdgroup>;
  using Weights = tensor<threadgroup T, extents<int32_t, Keys, kQueries>, tensor_inline>;
  using Rows = tensor<threadgroup float, extents<int32_t, kQueries>, tensor_inline>;
  using Scores =
      decltype(Score().template get_destination_cooperative_tensor<Queries, BlockKeys, float>());
  using RowScores =
      decltype(Score()
                   .template get_row_reduction_destination_cooperative_tensor<Queries, BlockKeys,
                                                                              float>());
  using Output =
      decltype(Gather().template get_destination_cooperative_tensor<Weights, BlockValues, float>());
  using OutputRows =
      decltype(Gather()
                   .template get_row_reduction_destination_cooperative_tensor<Weights, BlockValues,
                                                                              float>());

  threadgroup AttentionExchange<T, Keys>& memory;
  // Exponentials to base two: log2(e) is part of the scale.
  float scale;
  RowScores level;
  RowScores sum;
  Output out;

  INLINED OnlineAttention(threadgroup AttentionExchange<T, Keys>& memory, int dims)
      : memory(memory), scale(1.44269504f * precise::rsqrt(float(dims))) {
#pragma clang loop unroll(full)
    for (ushort i = 0; i < level.get_capacity(); ++i) {
      level[i] = -INFINITY;
      sum[i] = 0;
    }
#pragma clang loop unroll(full)
    for (ushort i = 0; i < out.get_capacity(); ++i) {
      out[i] = 0;
    }
  }

  // Pass a number of each row to the rows of the output.
  INLINED OutputRows exchange(thread RowScores& numbers) {
    Gather gather;
    Rows rows(memory.rows, extents<int32_t, kQueries>());
    auto factor =
        gather.template get_row_reduction_destination_cooperative_tensor<Weights, BlockValues,
                                                                         float>();
    simdgroup_barrier(mem_flags::mem_threadgroup);
    numbers.store(rows);
    simdgroup_barrier(mem_flags::mem_threadgroup);
    factor.load(rows);
    return factor;
  }

  // Return the scores of a block of keys.
  INLINED static Scores multiply(thread Queries& queries, thread BlockKeys& some_keys) {
    Score score;
    Scores scores;
    score.run(queries, some_keys, scores);
    return scores;
  }

  // Add the block of keys from number `first` on. Query i of the 16 sees the keys below
  // `seen` + i, and below `keys`.
  INLINED void add(thread Scores& scores, thread BlockValues& some_values, int first, int keys,
                   int seen) {
    Score score;
    Gather gather;
    RowScores shrink;
    // No query sees less than the first one: most blocks have no key that one does not see.
    if (first + Keys > min(keys, seen)) {
#pragma clang loop unroll(full)
      for (ushort i = 0; i < scores.get_capacity(); ++i) {
        const auto at = scores.get_multidimensional_index(i);
        const int key = first + at[0];
        scores[i] = key < keys && key < seen + at[1] ? scores[i] : -INFINITY;
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
      sum[i] *= shrink[i];
      has_risen = has_risen || rises;
    }
    if (simd_any(has_risen)) {
      auto factor = exchange(shrink);
#pragma clang loop unroll(full)
      for (ushort i = 0; i < out.get_capacity(); ++i) {
        out[i] *= *factor.map_iterator(out.begin() + i);
      }
    }
    // Sums are of the weights as they are rounded.
    auto rounded = score.template get_destination_cooperative_tensor<Queries, BlockKeys, T>();
#pragma clang loop unroll(full)
    for (ushort i = 0; i < scores.get_capacity(); ++i) {
      const float base = *level.map_iterator(scores.begin() + i) * scale;
      rounded[i] = T(fast::exp2(fma(scores[i], scale, -base)));
    }
#pragma clang loop unroll(full)
    for (ushort i = 0; i < scores.get_capacity(); ++i) {
      scores[i] = float(rounded[i]);
    }
    reduce_rows(scores, shrink, reduction_operation::sum, 0.0f);
#pragma clang loop unroll(full)
    for (ushort i = 0; i < sum.get_capacity(); ++i) {
      sum[i] += shrink[i];
    }
    if (gather.template is_compatible_as_left_input<T, T, float>(rounded)) {
      auto weights = gather.template get_left_input_cooperative_tensor<T, T, float>(rounded);
      gather.run(weights, some_values, out);
    } else {
      Weights weights(memory.weights, extents<int32_t, Keys, kQueries>());
      simdgroup_barrier(mem_flags::mem_threadgroup);
      rounded.store(weights);
      simdgroup_barrier(mem_flags::mem_threadgroup);
      gather.run(weights, some_values, out);
    }
  }

  // Write the output from row `first_query` on.
  INLINED void store(MatrixTensor<T> y, int first_query) {
    Gather gather;
#pragma clang loop unroll(full)
    for (ushort i = 0; i < sum.get_capacity(); ++i) {
      sum[i] = 1.0f / sum[i];
    }
    auto factor = exchange(sum);
    auto results = gather.template get_destination_cooperative_tensor<Weights, BlockValues, T>();
#pragma clang loop unroll(full)
    for (ushort i = 0; i < out.get_capacity(); ++i) {
      // check: allow registers in float32 the results are the output: 16 x MaxDims in 32 lanes
      results[i] = T(out[i] * *factor.map_iterator(out.begin() + i));
    }
    auto target = y.slice(0, first_query);
    results.store(target);
  }
};

// A head by Simds SIMD-groups, of which each has 16 queries. A Causal query sees the keys up to
// itself. `Memory` is what a threadgroup needs.
template <typename T, int MaxDims, bool Causal, int Simds>
struct TensorAttention {
  static constexpr constant int kKeys = 32;

  struct Memory {
    AttentionExchange<T> exchange[Simds];
  };

  // The queries from number `first_query` on. All threads of the threadgroup call it.
  INLINED static void attend(Head<const T> q, Head<const T> k, Head<const T> v, Head<T> y,
                             uint dims, uint first_query, uint simdgroup, uint,
                             threadgroup Memory& memory) {
    const int own_query = int(first_query + 16 * simdgroup), keys = int(k.rows);
    auto queries = matrix_tensor(q.data, q.rows, dims).slice(0, own_query);
    const auto all_keys = matrix_tensor(k.data, k.rows, dims);
    const auto all_values = matrix_tensor(v.data, v.rows, dims);
    using Slice = decltype(queries);
    const int seen = Causal ? own_query + 1 : keys;
    const int end = Causal ? min(keys, own_query + 16) : keys;
    OnlineAttention<T, MaxDims, kKeys, false, Slice, Slice, Slice> state(memory.exchange[simdgroup],
                                                                         int(dims));
    for (int first = 0; first < end; first += kKeys) {
      auto some_keys = all_keys.slice(0, first);
      auto some_values = all_values.slice(0, first);
      auto scores = state.multiply(queries, some_keys);
      state.add(scores, some_values, first, keys, seen);
    }
    state.store(matrix_tensor(y.data, y.rows, dims), own_query);
  }
};

template <typename T, int MaxDims, bool Causal, int Simds>
struct StagedTensorAttention {
  static constexpr constant int kQueries = 16 * Simds;
  static constexpr constant int kKeys = sizeof(T) == 4 ? 16 : 32;
  static constexpr constant int kThreads = 32 * Simds;
  // Rows in threadgroup memory, padded so that eight of them lie in different banks.
  static constexpr constant int kPitch = MaxDims + 16 / sizeof(T);
  using Passing = PassingRows<T, kKeys, MaxDims, kPitch, kThreads, true>;
  using Tile = tensor<threadgroup T, extents<int32_t, MaxDims, kKeys>, tensor_inline>;

  struct Memory {
    // Vectors, for their alignment.
    float4 keys[kKeys * kPitch * sizeof(T) / sizeof(float4)];
    float4 values[kKeys * kPitch * sizeof(T) / sizeof(float4)];
    AttentionExchange<T, kKeys> exchange[Simds];
  };

  INLINED static Tile tile_of(threadgroup T* data) {
    return Tile(data, extents<int32_t, MaxDims, kKeys>(), array<int32_t, 2>{1, kPitch});
  }

  // The queries from number `first_query` on. All threads of the threadgroup call it.
  INLINED static void attend(Head<const T> q, Head<const T> k, Head<const T> v, Head<T> y,
                             uint dims, uint first_query, uint simdgroup, uint lane,
                             threadgroup Memory& memory) {
    const int own_query = int(first_query + 16 * simdgroup), keys = int(k.rows);
    const uint thread_index = simdgroup * 32 + lane;
    threadgroup T* const all_keys = (threadgroup T*)memory.keys;
    threadgroup T* const all_values = (threadgroup T*)memory.values;
    Passing passing_keys(k, 0, dims, thread_index);
    Passing passing_values(v, 0, dims, thread_index);
    passing_keys.expect();
    passing_values.expect();
    // Products have MaxDims dims.
    if (dims < uint(MaxDims)) {
      for (int i = int(thread_index); i < kKeys * kPitch; i += kThreads) {
        all_keys[i] = T(0);
        all_values[i] = T(0);
      }
    }
    matmul2d<matmul2d_descriptor(16, kKeys, MaxDims, false, true, false,
                                 matmul2d_descriptor::mode::multiply),
             execution_simdgroup>
        score;
    auto own = score.template get_left_input_cooperative_tensor<T, T, float>();
    auto from = matrix_tensor(q.data, q.rows, dims).slice(0, own_query);
    own.load(from);
    const int seen = Causal ? own_query + 1 : keys;
    const int all = Causal ? min(keys, int(first_query) + kQueries) : keys;
    const int end = own_query < int(q.rows) ? (Causal ? min(keys, own_query + 16) : keys) : 0;
    auto some_keys = tile_of(all_keys);
    auto some_values = tile_of(all_values);
    using State = OnlineAttention<T, MaxDims, kKeys, true, decltype(own), Tile, Tile>;
    State state(memory.exchange[simdgroup], int(dims));
    for (int first = 0; first < all; first += kKeys) {
      threadgroup_barrier(mem_flags::mem_threadgroup);
      passing_keys.put(all_keys);
      passing_values.put(all_values);
      threadgroup_barrier(mem_flags::mem_threadgroup);
      if (first + kKeys < all) {
        passing_keys.expect();
        passing_values.expect();
      }
      if (first < end) {
        auto scores = State::multiply(own, some_keys);
        state.add(scores, some_values, first, keys, seen);
      }
    }
    if (end > 0) {
      state.store(matrix_tensor(y.data, y.rows, dims), own_query);
    }
  }
};

// Heads of up to 64 dims have an output of half the size.
template <typename T, bool Causal, int Simds, bool Staged>
struct PrefillAttention {
  template <int MaxDims>
  using Attention = conditional_t<Staged, StagedTensorAttention<T, MaxDims, Causal, Simds>,
                                  TensorAttention<T, MaxDims, Causal, Simds>>;
  using Memory = typename Attention<128>::Memory;

  INLINED static void attend(Head<const T> q, Head<const T> k, Head<const T> v, Head<T> y,
                             uint dims, uint first_query, uint simdgroup, uint lane,
                             threadgroup Memory& memory) {
    if (dims <= 64) {
      using Narrow = Attention<64>;
      static_assert(sizeof(typename Narrow::Memory) <= sizeof(Memory), "memory is reused");
      Narrow::attend(q, k, v, y, dims, first_query, simdgroup, lane,
                     (threadgroup typename Narrow::Memory&)memory);
    } else {
      Attention<128>::attend(q, k, v, y, dims, first_query, simdgroup, lane, memory);
    }
  }
};

}  // namespace metalbench
