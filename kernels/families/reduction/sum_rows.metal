// One number of each row, joined by what the instance names: sum, largest, smallest or product. One
// threadgroup per row, four running values a thread, a SIMD-group function for the lanes and one
// barrier; the order is always the same.
// dispatch: join_rows  threadgroups=(rows)  threads=(min(TG, max(LEAST, 32 * ceil_div(cols, 128))))
// instance: sum_rows FUNCTION = 0
// instance: max_rows FUNCTION = 1
// instance: min_rows FUNCTION = 2
// instance: prod_rows FUNCTION = 3
// tune: TG = 1024, 64, 32, 128, 256
// tune: LEAST = 32, 1024
// defaults: cpu TG = 64, LEAST = 1024
// defaults: cuda TG = 64, LEAST = 1024
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

[[kernel, max_total_threads_per_threadgroup(TG)]] void join_rows(
    device const DTYPE* x, device DTYPE* y, constant uint& cols,
    uint row [[threadgroup_position_in_grid]], ROW_PLACE_ARGUMENTS) {
  const auto place = ROW_PLACE(LEAST, TG);
  threadgroup float partial[TG / 32];
  const float value = joined_row<TG>(Chosen<FUNCTION>(), x, row, cols, partial, place);
  if (thread_index == 0) {
    y[row] = DTYPE(value);
  }
}
