// Residual addition and root-mean-square norm in one pass, y = rms_norm(x + residual): one
// threadgroup per row. The sum lives in registers only: two arrays are read and one is written,
// where two kernels would read three and write two.
// dispatch: fused_add_rms_norm  threadgroups=(rows)  threads=(min(TG, max(LEAST, 32 * ceil_div(cols, 128 * KEEP))))
// tune: TG = 1024, 32, 64, 128, 256
// tune: KEEP = 2, 8, 1, 4
// tune: LEAST = 32, 1024
// defaults: cpu TG = 32, KEEP = 8
// defaults: cuda TG = 32, KEEP = 8
// dtypes: float32, float16, bfloat16
#include "metalbench/norm.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void fused_add_rms_norm(
    device const DTYPE* x, device const DTYPE* residual, device DTYPE* y, constant uint& cols,
    constant float& eps, uint row [[threadgroup_position_in_grid]], ROW_PLACE_ARGUMENTS) {
  const auto place = ROW_PLACE(LEAST, TG);
  threadgroup float partial[TG / 32];
  const RowSum<DTYPE> sum = row_of_sum(x, residual, row, cols);
  scale_row_by_rms<TG, KEEP>(sum, y + ulong(row) * cols, eps, partial, place);
}
