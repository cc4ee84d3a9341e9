// Row layer norm with weight and bias: one threadgroup per row, which stays in registers from the
// mean to the variance, taken from deviations, to the result. Weight and bias come from the cache
// that all rows share.
// dispatch: layer_norm_affine  threadgroups=(rows)  threads=(min(TG, max(LEAST, 32 * ceil_div(cols, 128 * KEEP))))
// tune: TG = 1024, 32, 64, 128, 256
// tune: KEEP = 2, 8, 1, 4
// tune: LEAST = 32, 1024
// defaults: cpu TG = 32, KEEP = 8
// defaults: cuda TG = 128, KEEP = 8, LEAST = 1024
// dtypes: float32, float16, bfloat16
#include "metalbench/norm.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void layer_norm_affine(
    device const DTYPE* x, device const DTYPE* weight, device const DTYPE* bias, device DTYPE* y,
    constant uint& cols, constant float& eps, uint row [[threadgroup_position_in_grid]],
    ROW_PLACE_ARGUMENTS) {
  const auto place = ROW_PLACE(LEAST, TG);
  threadgroup MomentMemory<TG / 32> memory;
  const ulong from = ulong(row) * cols;
  if (cols % 4 == 0) {
    const Weighted<DTYPE, true> to = {y + from, weight, bias, cols};
    standardise_row_into<TG, KEEP>(row_of<true>(x, row, cols), to, eps, memory, place);
  } else {
    const Weighted<DTYPE> to = {y + from, weight, bias, cols};
    standardise_row_into<TG, KEEP>(row_of(x, row, cols), to, eps, memory, place);
  }
}
