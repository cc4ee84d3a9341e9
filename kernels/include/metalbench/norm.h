// Norms of rows, one threadgroup a row (rows.h). `Source` is a Row or a RowSum that is 0 beyond its
// end.
#pragma once
#include "metalbench/reduce.h"
#include "metalbench/rows.h"

namespace metalbench {

template <uint SimdGroups>
struct MomentMemory {
  float sums[SimdGroups];
  float2 moments[SimdGroups];
};

// Of a row: the mean as first computed, how far it is off, and the variance.
struct Moments {
  float mean;
  float drift;
  float variance;
};

// v - mean, but zero beyond the row.
inline float4 deviation(float4 v, float mean, uint column, uint cols) {
  return select(float4(0.0f), v - mean, column + uint4(0, 1, 2, 3) < uint4(cols));
}

// Leaves v - mean of the row in `kept`. The variance is taken in a second pass, over registers,
// from deviations: the mean of the squares less the square of the mean cancels where rows are far
// from zero. The mean of the deviations, zero but for rounding, corrects mean and variance.
template <uint Threads, uint Keep, typename Source, typename At>
inline Moments moments_of_row(Source source, thread float4 (&kept)[Keep],
                              threadgroup MomentMemory<Threads / 32>& memory, At place) {
  const uint threads = threads_of<Threads>(place);
  const uint cols = source.cols;
  const uint beyond = 4 * (place.thread_index + Keep * threads);
  float4 sum = 0.0f;
  UNROLLED_ON_GPU
  for (uint i = 0; i < Keep; ++i) {
    kept[i] = source.kept(4 * (place.thread_index + i * threads));
    sum += kept[i];
  }
  for (uint column = beyond; column < cols; column += 4 * threads) {
    sum += source(column);
  }
  const float mean = group_sum<Threads / 32>(total(sum), memory.sums, place) / float(cols);

  float4 first = 0.0f;
  float4 second = 0.0f;
  UNROLLED_ON_GPU
  for (uint i = 0; i < Keep; ++i) {
    kept[i] = deviation(kept[i], mean, 4 * (place.thread_index + i * threads), cols);
    first += kept[i];
    second += kept[i] * kept[i];
  }
  for (uint column = beyond; column < cols; column += 4 * threads) {
    const float4 d = deviation(source(column), mean, column, cols);
    first += d;
    second += d * d;
  }
  const float2 sums = float2(total(first), total(second));
  const float2 moment = group_sum<Threads / 32>(sums, memory.moments, place) / float(cols);
  return {mean, moment.x, moment.y - moment.x * moment.x};
}

// Puts (row - mean) / sqrt(variance + eps) into `to`, a `Put` of rows.h.
template <uint Threads, uint Keep, typename Source, typename Put, typename At>
inline void standardise_row_into(Source source, Put to, float eps,
                                 threadgroup MomentMemory<Threads / 32>& memory, At place) {
  const uint threads = threads_of<Threads>(place);
  const uint cols = source.cols;
  float4 kept[Keep];
  const Moments row = moments_of_row<Threads, Keep>(source, kept, memory, place);
  const float scale = precise::rsqrt(row.variance + eps);
  put_kept(to, ShiftScale{row.drift, scale}, kept, cols, place.thread_index, threads);
  for (uint column = 4 * (place.thread_index + Keep * threads); column < cols;
       column += 4 * threads) {
    to.template put<false>(column, ((source(column) - row.mean) - row.drift) * scale);
  }
}

// y = (row - mean) / sqrt(variance + eps)
template <uint Threads, uint Keep, typename Source, typename T, typename At>
inline void standardise_row(Source source, device T* y, float eps,
                            threadgroup MomentMemory<Threads / 32>& memory, At place) {
  const ToRow<T, kWhole<Source>> to = {y, source.cols};
  standardise_row_into<Threads, Keep>(source, to, eps, memory, place);
}

// Puts row * measure.scale(sum of measure.term(row), cols) into `to`, a `Put` of rows.h.
template <uint Threads, uint Keep, typename Measure, typename Source, typename Put, typename At>
inline void scale_row_into(Measure measure, Source source, Put to, threadgroup float* partial,
                           At place) {
  const uint threads = threads_of<Threads>(place);
  const uint cols = source.cols;
  const uint beyond = 4 * (place.thread_index + Keep * threads);
  float4 kept[Keep];
  float4 terms = 0.0f;
  UNROLLED_ON_GPU
  for (uint i = 0; i < Keep; ++i) {
    kept[i] = source.kept(4 * (place.thread_index + i * threads));
    terms += measure.term(kept[i]);
  }
  for (uint column = beyond; column < cols; column += 4 * threads) {
    terms += measure.term(source(column));
  }
  const float sum = group_sum<Threads / 32>(total(terms), partial, place);
  const float scale = measure.scale(sum, cols);
  put_kept(to, ShiftScale{0.0f, scale}, kept, cols, place.thread_index, threads);
  for (uint column = beyond; column < cols; column += 4 * threads) {
    to.template put<false>(column, source(column) * scale);
  }
}

// y = row * measure.scale(sum of measure.term(row), cols)
template <uint Threads, uint Keep, typename Measure, typename Source, typename T, typename At>
inline void scale_row(Measure measure, Source source, device T* y, threadgroup float* partial,
                      At place) {
  const ToRow<T, kWhole<Source>> to = {y, source.cols};
  scale_row_into<Threads, Keep>(measure, source, to, partial, place);
}

struct RootMeanSquare {
  float eps;
  float4 term(float4 v) const { return v * v; }
  float scale(float sum, uint cols) const { return precise::rsqrt(sum / float(cols) + eps); }
};

// y = row / sqrt(mean of squares + eps)
template <uint Threads, uint Keep, typename Source, typename T, typename At>
inline void scale_row_by_rms(Source source, device T* y, float eps, threadgroup float* partial,
                             At place) {
  scale_row<Threads, Keep>(RootMeanSquare{eps}, source, y, partial, place);
}

// Puts row / sqrt(mean of squares + eps) into `to`, a `Put` of rows.h.
template <uint Threads, uint Keep, typename Source, typename Put, typename At>
inline void scale_row_by_rms_into(Source source, Put to, float eps, threadgroup float* partial,
                                  At place) {
  scale_row_into<Threads, Keep>(RootMeanSquare{eps}, source, to, partial, place);
}

// A `Put` that multiplies by a weight for each column and, if there is one, adds a bias or another
// row; of whole quads, if `Whole`.
template <typename T, bool Whole = false>
struct Weighted {
  static constant constexpr bool kIsWhole = Whole;
  device T* y;
  device const T* weight;
  device const T* added;
  uint cols;

  template <bool Full>
  void put(uint column, float4 v) const {
    v *= load_quad<Whole, Full>(weight, column, cols);
    if (added) {
      v += load_quad<Whole, Full>(added, column, cols);
    }
    store_quad<Whole, Full>(y, column, cols, v);
  }
};

}  // namespace metalbench
