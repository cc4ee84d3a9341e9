// Row log softmax: y = (x - peak) - log(sum of exp(x - peak)), one threadgroup per row. Never the
// logarithm of a softmax, which would be log(0) for what lies 104 below the peak. Differences to
// the peak first: they are exact where they are small, and so are the results of the likely
// classes.
// KEEP quads a thread stay in registers, so that rows are read once.
// dispatch: log_softmax  threadgroups=(rows)  threads=(TG)
// tune: TG = 32, 64, 128, 256
// tune: KEEP = 8, 1, 4
// dtypes: float32, float16, bfloat16
#include "metalbench/softmax.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void log_softmax(device const DTYPE* x, device DTYPE* y, constant uint& cols,
                            uint row [[threadgroup_position_in_grid]],
                            uint thread_index [[thread_index_in_threadgroup]],
                            uint lane [[thread_index_in_simdgroup]],
                            uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const Place place = {thread_index, lane, simdgroup};
  threadgroup float2 partial[TG / 32];
  const Row<DTYPE> from = row_of(x, row, cols, -INFINITY);
  device DTYPE* to = y + ulong(row) * cols;
  const uint beyond = 4 * (thread_index + KEEP * TG);
  float4 kept[KEEP];
  ExpSum mine = no_exp_sum();
  for (uint i = 0; i < KEEP; ++i) {
    kept[i] = from(4 * (thread_index + i * TG));
    mine.peak = max(mine.peak, largest(kept[i]));
  }
  for (uint i = 0; i < KEEP; ++i) {
    mine.sum += total(exp(kept[i] - mine.peak));
  }
  for (uint column = beyond; column < cols; column += 4 * TG) {
    mine = with_quad(mine, from(column));
  }
  const ExpSum all = group_exp_sum<TG / 32>(mine, partial, place);
  const float log_sum = precise::log(all.sum);
  for (uint i = 0; i < KEEP; ++i) {
    store_quad(to, 4 * (thread_index + i * TG), cols, (kept[i] - all.peak) - log_sum);
  }
  for (uint column = beyond; column < cols; column += 4 * TG) {
    store_quad(to, column, cols, (from(column) - all.peak) - log_sum);
  }
}
