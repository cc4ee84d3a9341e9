// Softmax of x + mask, where the mask holds 0 or -inf: one threadgroup per row, one pass over
// both. The masked row is never stored. A maximum that starts at the lowest finite number lets
// exp(-inf - maximum) be 0, so that masked elements vanish without a separate test.
// dispatch: masked_softmax  threadgroups=(rows)  threads=(TG)
// tune: TG = 32, 64, 128, 256
// tune: KEEP = 8, 1, 4, 16
// defaults: cuda TG = 128, KEEP = 4
// dtypes: float32, float16, bfloat16
#include "metalbench/softmax.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void masked_softmax(device const DTYPE* x, device const DTYPE* mask, device DTYPE* y,
                               constant uint& cols, uint row [[threadgroup_position_in_grid]],
                               uint thread_index [[thread_index_in_threadgroup]],
                               uint lane [[thread_index_in_simdgroup]],
                               uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const Place place = {thread_index, lane, simdgroup};
  threadgroup float2 partial[TG / 32];
  device DTYPE* to = y + ulong(row) * cols;
  if (cols % 4 == 0) {
    softmax_row<TG, KEEP>(row_of_sum<true>(x, mask, row, cols, -INFINITY), to, partial, place);
  } else {
    softmax_row<TG, KEEP>(row_of_sum(x, mask, row, cols, -INFINITY), to, partial, place);
  }
}
