// Sums of exponentials in one pass: the largest value so far and the sum relative to it, which is
// rescaled when a larger one comes (online softmax). Two SIMD-group functions and one barrier for a
// threadgroup.
#pragma once
#include "metalbench/reduce.h"
#include "metalbench/rows.h"

namespace metalbench {

// sum of exp(v - peak). `peak` starts at a finite lowest value, so that exp(v - peak) of a masked
// (-inf) element is 0 and never NaN.
struct ExpSum {
  float peak;
  float sum;
};

inline ExpSum no_exp_sum() { return {-FLT_MAX, 0.0f}; }

inline ExpSum with_quad(ExpSum so_far, float4 v) {
  const float higher = max(so_far.peak, largest(v));
  return {higher, so_far.sum * exp(so_far.peak - higher) + total(exp(v - higher))};
}

// Over all threads; `partial` has SimdGroups elements.
template <uint SimdGroups>
inline ExpSum group_exp_sum(ExpSum mine, threadgroup float2* partial, Place place) {
  const float simd_peak = simd_max(mine.peak);
  const float simd_total = simd_sum(mine.sum * exp(mine.peak - simd_peak));
  if (SimdGroups == 1) {
    return {simd_peak, simd_total};
  }
  if (place.lane == 0) {
    partial[place.simdgroup] = float2(simd_peak, simd_total);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float peak = partial[0].x;
  for (uint i = 1; i < SimdGroups; ++i) {
    peak = max(peak, partial[i].x);
  }
  float sum = 0.0f;
  for (uint i = 0; i < SimdGroups; ++i) {
    sum += partial[i].y * exp(partial[i].x - peak);
  }
  return {peak, sum};
}

template <uint SimdGroups>
inline ExpSum group_exp_sum(ExpSum mine, threadgroup float2* partial, RowPlace place) {
  const float simd_peak = simd_max(mine.peak);
  const float simd_total = simd_sum(mine.sum * exp(mine.peak - simd_peak));
  if (place.lane == 0) {
    partial[place.simdgroup] = float2(simd_peak, simd_total);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const float2 own = partial_of_lane(partial, place, float2(-FLT_MAX, 0.0f));
  const float peak = simd_max(own.x);
  return {peak, simd_sum(own.y * exp(own.x - peak))};
}

// The sum of a whole row; `Source` is a Row or a RowSum that is -inf beyond its end.
template <uint Threads, typename Source, typename At>
inline ExpSum row_exp_sum(Source source, threadgroup float2* partial, At place) {
  const uint threads = threads_of<Threads>(place);
  ExpSum mine = no_exp_sum();
  for (uint column = 4 * place.thread_index; column < source.cols; column += 4 * threads) {
    mine = with_quad(mine, source(column));
  }
  return group_exp_sum<Threads / 32>(mine, partial, place);
}

// y = exp(row) / sum(exp(row)). What a thread keeps becomes exponentials relative to its own peak
// at once, and is multiplied by one factor at the end: one exp for each element that is kept, two
// for the others.
template <uint Threads, uint Keep, typename Source, typename T, typename At>
inline void softmax_row(Source source, device T* y, threadgroup float2* partial, At place) {
  const uint threads = threads_of<Threads>(place);
  const uint cols = source.cols;
  const uint beyond = 4 * (place.thread_index + Keep * threads);
  float peak = -FLT_MAX;
  float4 kept[Keep];
  UNROLLED_ON_GPU
  for (uint i = 0; i < Keep; ++i) {
    kept[i] = source.kept(4 * (place.thread_index + i * threads));
    peak = max(peak, largest(kept[i]));
  }
  float4 sums = 0.0f;
  UNROLLED_ON_GPU
  for (uint i = 0; i < Keep; ++i) {
    if (4 * i * threads < cols) {
      kept[i] = exp(kept[i] - peak);
      sums += kept[i];
    }
  }
  ExpSum mine = {peak, total(sums)};
  for (uint column = beyond; column < cols; column += 4 * threads) {
    mine = with_quad(mine, source(column));
  }
  const ExpSum row = group_exp_sum<Threads / 32>(mine, partial, place);

  const float inverse = 1.0f / row.sum;
  const float scale = exp(peak - row.peak) * inverse;
  const ToRow<T, kWhole<Source>> to = {y, cols};
  put_kept(to, ShiftScale{0.0f, scale}, kept, cols, place.thread_index, threads);
  for (uint column = beyond; column < cols; column += 4 * threads) {
    to.template put<false>(column, exp(source(column) - row.peak) * inverse);
  }
}

}  // namespace metalbench
