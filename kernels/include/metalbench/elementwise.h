// The grid of an elementwise kernel: a thread moves four elements of every array with one load or
// store each, the last thread does what is left one by one. Such a kernel is bound by memory; no
// synchronisation, no threadgroup memory. Needs `threads_in_grid=(ceil_div(count, 4))`. `f` is a
// function object on float and on float4.
#pragma once
#include "metalbench/quads.h"

namespace metalbench {

// y = f(x...), element by element, for quad `i` of `count` elements.
template <typename F, typename T, typename... Inputs>
inline void elementwise(F f, device T* y, uint count, uint i, device const Inputs*... x) {
  if (4 * i + 4 <= count) {
    put_quad(y, i, f(quad_at(x, i)...));
    return;
  }
  for (uint j = 4 * i; j < count; ++j) {
    y[j] = T(f(typename Widened<Inputs>::One(x[j])...));
  }
}

// y = f(x, v) with a vector `v` of one value a column: thread (q, b) does quad q of Rows rows and
// keeps its four values of `v` in registers. Needs `threads_in_grid=(ceil_div(cols, 4),
// ceil_div(rows, Rows))`.
template <uint Rows, typename F, typename T>
inline void with_row_vector(F f, device const T* x, device const T* v, device T* y, uint rows,
                            uint cols, uint2 place) {
  const uint column = 4 * place.x;
  const float4 values = load_quad(v, column, cols);
  const uint end = min(rows, (place.y + 1) * Rows);
  for (uint row = place.y * Rows; row < end; ++row) {
    const ulong start = ulong(row) * cols;
    store_quad(y + start, column, cols, f(load_quad(x + start, column, cols), values));
  }
}

}  // namespace metalbench
