// Where a row is cut: the largest of its values from which on upwards there is enough, elements or
// weight. Found bit by bit of integers of the same order as floats (sort.h): 32 passes over the
// row, which the cache holds, instead of a sort. `Amount` says what a quad has at or above a key.
#pragma once
#include "metalbench/reduce.h"
#include "metalbench/rows.h"
#include "metalbench/sort.h"

namespace metalbench {

// y = x at or above the key, elsewhere -inf.
template <uint Threads, typename T, typename At>
inline void keep_from(uint key, device const T* x, device T* y, uint cols, At place) {
  const uint threads = threads_of<Threads>(place);
  for (uint column = 4 * place.thread_index; column < cols; column += 4 * threads) {
    float4 v = load_quad(x, column, cols);
    UNROLLED
    for (uint i = 0; i < 4; ++i) {
      v[i] = sort_key(v[i]) >= key ? v[i] : -INFINITY;
    }
    store_quad(y, column, cols, v);
  }
}

template <uint Threads, typename Amount, typename T, typename At>
inline uint cut_of_row(Amount amount, float enough, device const T* x, uint cols,
                       threadgroup float* partial, At place) {
  const uint threads = threads_of<Threads>(place);
  uint key = 0;
  for (uint bit = 32; bit-- > 0;) {
    const uint wanted = key | 1u << bit;
    float4 sum = 0.0f;
    for (uint column = 4 * place.thread_index; column < cols; column += 4 * threads) {
      const float4 v = load_quad(x, column, cols, -INFINITY);
      const uint4 keys = uint4(sort_key(v.x), sort_key(v.y), sort_key(v.z), sort_key(v.w));
      sum += select(float4(0.0f), amount(v), keys >= wanted);
    }
    const float all =
        group_sum<Threads / 32>(total(sum), partial + (bit % 2) * (Threads / 32), place);
    key = all >= enough ? wanted : key;
  }
  return key;
}

}  // namespace metalbench
