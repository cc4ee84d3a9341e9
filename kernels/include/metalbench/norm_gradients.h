// Gradients of norms of rows, one threadgroup a row. With v the normalised row, r the factor that
// normalised it and g the gradient of y = w v: that of x is r (w g - mean(w g v) v), and for layer
// norm less mean(w g) too. The row and the gradient are read twice, the second time from the cache.
#pragma once
#include "metalbench/columns.h"
#include "metalbench/norm.h"

namespace metalbench {

template <typename T>
struct NormGradient {
  Row<T> x;
  Row<T> weight;
  Row<T> gradient;
  float mean;
  float scale;

  float4 normalised(uint column) const {
    return deviation(x(column), mean, column, x.cols) * scale;
  }
  float4 weighted(uint column) const { return gradient(column) * weight(column); }

  // Centred: whether the norm takes the mean away, and its gradient so too.
  template <uint Threads, bool Centred, typename At>
  void store(device T* to, threadgroup float2* partial, At place) const {
    const uint threads = threads_of<Threads>(place);
    float4 along = 0.0f;
    float4 all = 0.0f;
    for (uint column = 4 * place.thread_index; column < x.cols; column += 4 * threads) {
      const float4 g = weighted(column);
      along = fma(g, normalised(column), along);
      all += g;
    }
    const float2 sums = float2(total(along), Centred ? total(all) : 0.0f);
    const float2 means = group_sum<Threads / 32>(sums, partial, place) / float(x.cols);
    for (uint column = 4 * place.thread_index; column < x.cols; column += 4 * threads) {
      const float4 v = normalised(column);
      store_quad(to, column, x.cols, scale * ((weighted(column) - means.y) - means.x * v));
    }
  }
};

struct ColumnSums {
  float4 along;
  float4 all;
};

// Of every Down-th row, from the first on.
template <uint Down, bool Whole, typename T>
inline ColumnSums sums_down(device const T* x, device const T* gradient,
                            device const float2* moments, uint first, uint rows, uint column,
                            uint cols) {
  ColumnSums sums = {0.0f, 0.0f};
  for (uint row = first; row < rows; row += Down) {
    const float2 moment = moments[row];
    const float4 g = quad_of<Whole>(gradient + ulong(row) * cols, column, cols);
    const float4 v = quad_of<Whole>(x + ulong(row) * cols, column, cols);
    sums.along = fma(g, (v - moment.x) * moment.y, sums.along);
    sums.all += g;
  }
  return sums;
}

// Of the weights, strips of columns as in columns.h: the sums of g v, and of g, over all rows, of
// which `moments` has mean and factor.
template <uint Quads, uint Down, typename T>
inline ColumnSums column_sums(device const T* x, device const T* gradient,
                              device const float2* moments, uint rows, uint cols, uint column,
                              uint2 thread_position,
                              threadgroup float4 (&partial)[2][Down][Quads]) {
  ColumnSums sums = {0.0f, 0.0f};
  if (column < cols) {
    const uint first = thread_position.y;
    sums = cols % 4 == 0 ? sums_down<Down, true>(x, gradient, moments, first, rows, column, cols)
                         : sums_down<Down, false>(x, gradient, moments, first, rows, column, cols);
  }
  float4 along = sums.along, all = sums.all;
  partial[0][thread_position.y][thread_position.x] = along;
  partial[1][thread_position.y][thread_position.x] = all;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint i = 0; i < Down; ++i) {
    along = i == 0 ? partial[0][0][thread_position.x] : along + partial[0][i][thread_position.x];
    all = i == 0 ? partial[1][0][thread_position.x] : all + partial[1][i][thread_position.x];
  }
  return {along, all};
}

}  // namespace metalbench
