// Logits whose probability is below p times the largest one of their row become -inf: a comparison
// with the row's maximum plus log p, without exponentials. Two passes over a row, the second from
// the cache, one threadgroup each.
// dispatch: min_p_mask  threadgroups=(rows)  threads=(TG)
// tune: TG = 128, 64, 256, 512
// dtypes: float32, float16, bfloat16
#include "metalbench/row_reductions.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void min_p_mask(device const DTYPE* x, device DTYPE* y, constant uint& cols,
                           constant float& log_p, uint row [[threadgroup_position_in_grid]],
                           uint thread_index [[thread_index_in_threadgroup]],
                           uint lane [[thread_index_in_simdgroup]],
                           uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const Place place = {thread_index, lane, simdgroup};
  device const DTYPE* from = x + ulong(row) * cols;
  device DTYPE* to = y + ulong(row) * cols;
  threadgroup float partial[TG / 32];
  const float cut = joined_row<TG>(MaxJoin(), x, row, cols, partial, place) + log_p;
  for (uint column = 4 * thread_index; column < cols; column += 4 * TG) {
    const float4 v = load_quad(from, column, cols);
    store_quad(to, column, cols, select(float4(-INFINITY), v, v >= cut));
  }
}
