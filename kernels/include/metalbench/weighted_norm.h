// Norms of rows that something follows: a weight, a gate, a residual. One threadgroup a row, which
// stays in registers (rows.h); `finish(column, v)` is called with the normalised quad of every
// column, and stores what it makes of it.
#pragma once
#include "metalbench/norm.h"

namespace metalbench {

// Divided by the root of the mean square.
template <uint Threads, uint Keep, typename Source, typename Finish, typename At>
inline void finish_by_rms(Source source, Finish finish, float eps, threadgroup float* partial,
                          At place) {
  const uint threads = threads_of<Threads>(place);
  const uint cols = source.cols;
  const uint beyond = 4 * (place.thread_index + Keep * threads);
  float4 kept[Keep];
  float4 squares = 0.0f;
  for (uint i = 0; i < Keep; ++i) {
    kept[i] = source(4 * (place.thread_index + i * threads));
    squares += kept[i] * kept[i];
  }
  for (uint column = beyond; column < cols; column += 4 * threads) {
    const float4 v = source(column);
    squares += v * v;
  }
  const float sum = group_sum<Threads / 32>(total(squares), partial, place);
  const float scale = precise::rsqrt(sum / float(cols) + eps);
  for (uint i = 0; i < Keep; ++i) {
    finish(4 * (place.thread_index + i * threads), kept[i] * scale);
  }
  for (uint column = beyond; column < cols; column += 4 * threads) {
    finish(column, source(column) * scale);
  }
}

// With mean 0 and variance 1.
template <uint Threads, uint Keep, typename Source, typename Finish, typename At>
inline void finish_by_moments(Source source, Finish finish, float eps,
                              threadgroup MomentMemory<Threads / 32>& memory, At place) {
  const uint threads = threads_of<Threads>(place);
  const uint cols = source.cols;
  float4 kept[Keep];
  const Moments row = moments_of_row<Threads, Keep>(source, kept, memory, place);
  const float scale = precise::rsqrt(row.variance + eps);
  for (uint i = 0; i < Keep; ++i) {
    finish(4 * (place.thread_index + i * threads), (kept[i] - row.drift) * scale);
  }
  for (uint column = 4 * (place.thread_index + Keep * threads); column < cols;
       column += 4 * threads) {
    finish(column, ((source(column) - row.mean) - row.drift) * scale);
  }
}

// The row itself, times a weight for each column and, where there is one, plus a bias or what else
// lies next to it; of whole quads, if `Whole`.
template <typename T, bool Whole = false>
struct Weighted {
  device T* y;
  device const T* weight;
  device const T* added;
  uint cols;

  void operator()(uint column, float4 v) const {
    v *= load_quad<Whole>(weight, column, cols);
    if (added) {
      v += load_quad<Whole>(added, column, cols);
    }
    store_quad<Whole>(y, column, cols, v);
  }
};

}  // namespace metalbench
