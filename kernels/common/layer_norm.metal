// Row layer norm without affine part: one threadgroup per row, the row read once.
// Each thread keeps KEEP quads of its row in registers (a longer row is read again from the
// cache), so the variance is taken in a second pass over registers, from deviations. The mean of
// those deviations, zero but for rounding, corrects mean and variance: rows far from zero lose
// nothing.
// dispatch: layer_norm  threadgroups=(rows)  threads=(min(TG, max(LEAST, 32 * ceil_div(cols, 128 * KEEP))))
// tune: TG = 1024, 32, 64, 128, 256
// tune: KEEP = 2, 8, 1, 4, 16
// tune: LEAST = 32, 1024
// defaults: cpu TG = 32, KEEP = 8
// defaults: cuda TG = 128, KEEP = 4, LEAST = 1024
// defaults: cuda float16 bfloat16 TG = 64
// dtypes: float32, float16, bfloat16
#include "metalbench/norm.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void layer_norm(
    device const DTYPE* x, device DTYPE* y, constant uint& cols, constant float& eps,
    uint row [[threadgroup_position_in_grid]], ROW_PLACE_ARGUMENTS) {
  const auto place = ROW_PLACE(LEAST, TG);
  threadgroup MomentMemory<TG / 32> memory;
  device DTYPE* to = y + ulong(row) * cols;
  if (cols % 4 == 0) {
    standardise_row<TG, KEEP>(row_of<true>(x, row, cols), to, eps, memory, place);
  } else {
    standardise_row<TG, KEEP>(row_of(x, row, cols), to, eps, memory, place);
  }
}
