// One number of each row, joined by what the instance names: sum, largest, smallest or product. One
// threadgroup per row, four running values a thread, a SIMD-group function for the lanes and one
// barrier; the order is always the same.
// dispatch: join_rows  threadgroups=(rows)  threads=(TG)
// instance: sum_rows FUNCTION = 0
// instance: max_rows FUNCTION = 1
// instance: min_rows FUNCTION = 2
// instance: prod_rows FUNCTION = 3
// tune: TG = 64, 32, 128, 256
// dtypes: float32, float16, bfloat16
#include "metalbench/row_reductions.h"
using namespace metal;
using namespace metalbench;

template <uint Function>
struct Chosen;
template <>
struct Chosen<0> : SumJoin {};
template <>
struct Chosen<1> : MaxJoin {};
template <>
struct Chosen<2> : MinJoin {};
template <>
struct Chosen<3> : ProductJoin {};

[[kernel]] void join_rows(device const DTYPE* x, device DTYPE* y, constant uint& cols,
                          uint row [[threadgroup_position_in_grid]],
                          uint thread_index [[thread_index_in_threadgroup]],
                          uint lane [[thread_index_in_simdgroup]],
                          uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const Place place = {thread_index, lane, simdgroup};
  threadgroup float partial[TG / 32];
  const float value = joined_row<TG>(Chosen<FUNCTION>(), x, row, cols, partial, place);
  if (thread_index == 0) {
    y[row] = DTYPE(value);
  }
}
