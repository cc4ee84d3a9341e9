// Residual addition and layer norm in one pass, y = layer_norm(x + residual): one threadgroup per
// row. The sum is never stored: each thread keeps KEEP quads of it in registers, and what a
// longer row has beyond is added again from the cache. Mean and variance are those of layer_norm,
// from deviations.
// dispatch: add_norm  threadgroups=(rows)  threads=(min(TG, max(LEAST, 32 * ceil_div(cols, 128 * KEEP))))
// tune: TG = 1024, 32, 64, 128, 256
// tune: KEEP = 2, 8, 1, 4
// tune: LEAST = 32, 1024
// defaults: cpu TG = 32, KEEP = 8
// defaults: cuda TG = 32, KEEP = 8
// dtypes: float32, float16, bfloat16
#include "metalbench/norm.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void add_norm(
    device const DTYPE* x, device const DTYPE* residual, device DTYPE* y, constant uint& cols,
    constant float& eps, uint row [[threadgroup_position_in_grid]], ROW_PLACE_ARGUMENTS) {
  const auto place = ROW_PLACE(LEAST, TG);
  threadgroup MomentMemory<TG / 32> memory;
  const RowSum<DTYPE> sum = row_of_sum(x, residual, row, cols);
  standardise_row<TG, KEEP>(sum, y + ulong(row) * cols, eps, memory, place);
}
