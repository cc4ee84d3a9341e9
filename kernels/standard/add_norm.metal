// Residual addition and layer norm in one pass, y = layer_norm(x + residual): one threadgroup per
// row. The sum is never stored: each thread keeps KEEP quads of it in registers, and what a
// longer row has beyond is added again from the cache. Mean and variance are those of layer_norm,
// from deviations.
// dispatch: add_norm  threadgroups=(rows)  threads=(TG)
// tune: TG = 32, 64, 128, 256
// tune: KEEP = 8, 1, 4
// dtypes: float32, float16, bfloat16
#include "metalbench/norm.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void add_norm(device const DTYPE* x, device const DTYPE* residual, device DTYPE* y,
                         constant uint& cols, constant float& eps,
                         uint row [[threadgroup_position_in_grid]],
                         uint thread_index [[thread_index_in_threadgroup]],
                         uint lane [[thread_index_in_simdgroup]],
                         uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const Place place = {thread_index, lane, simdgroup};
  threadgroup MomentMemory<TG / 32> memory;
  const RowSum<DTYPE> sum = row_of_sum(x, residual, row, cols);
  standardise_row<TG, KEEP>(sum, y + ulong(row) * cols, eps, memory, place);
}
