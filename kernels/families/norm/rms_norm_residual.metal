// residual + rms_norm(x) * weight: one threadgroup per row. The residual is read where the result is
// written, so that three arrays go through memory once instead of the five passes of two kernels.
// dispatch: rms_norm_residual  threadgroups=(rows)  threads=(min(TG, max(LEAST, 32 * ceil_div(cols, 128 * KEEP))))
// tune: TG = 1024, 32, 64, 128, 256
// tune: KEEP = 2, 8, 1, 4
// tune: LEAST = 32, 1024
// defaults: cpu TG = 32, KEEP = 8
// defaults: cuda TG = 32, KEEP = 8
// dtypes: float32, float16, bfloat16
#include "metalbench/norm.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void rms_norm_residual(
    device const DTYPE* x, device const DTYPE* weight, device const DTYPE* residual,
    device DTYPE* y, constant uint& cols, constant float& eps,
    uint row [[threadgroup_position_in_grid]], ROW_PLACE_ARGUMENTS) {
  const auto place = ROW_PLACE(LEAST, TG);
  threadgroup float partial[TG / 32];
  const ulong from = ulong(row) * cols;
  const Weighted<DTYPE> to = {y + from, weight, residual + from, cols};
  scale_row_by_rms_into<TG, KEEP>(row_of(x, row, cols), to, eps, partial, place);
}
