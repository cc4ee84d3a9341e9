// Softmax of x + mask, where the mask holds 0 or -inf: one threadgroup per row, one pass over
// both. The masked row is never stored. A maximum that starts at the lowest finite number lets
// exp(-inf - maximum) be 0, so that masked elements vanish without a separate test.
// dispatch: masked_softmax  threadgroups=(rows)  threads=(min(TG, max(LEAST, 32 * ceil_div(cols, 128 * KEEP))))
// tune: TG = 1024, 32, 64, 128, 256
// tune: KEEP = 2, 8, 1, 4, 16
// tune: LEAST = 32, 1024
// defaults: cpu TG = 32, KEEP = 8
// defaults: cuda TG = 128, KEEP = 4, LEAST = 1024
// dtypes: float32, float16, bfloat16
#include "metalbench/softmax.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void masked_softmax(
    device const DTYPE* x, device const DTYPE* mask, device DTYPE* y, constant uint& cols,
    uint row [[threadgroup_position_in_grid]], ROW_PLACE_ARGUMENTS) {
  const auto place = ROW_PLACE(LEAST, TG);
  threadgroup float2 partial[TG / 32];
  device DTYPE* to = y + ulong(row) * cols;
  if (cols % 4 == 0) {
    softmax_row<TG, KEEP>(row_of_sum<true>(x, mask, row, cols, -INFINITY), to, partial, place);
  } else {
    softmax_row<TG, KEEP>(row_of_sum(x, mask, row, cols, -INFINITY), to, partial, place);
  }
}
