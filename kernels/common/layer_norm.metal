// Row layer norm without affine part: one threadgroup per row, the row read once.
// Each thread keeps KEEP quads of its row in registers (a longer row is read again from the
// cache), so the variance is taken in a second pass over registers, from deviations. The mean of
// those deviations, zero but for rounding, corrects mean and variance: rows far from zero lose
// nothing.
// dispatch: layer_norm  threadgroups=(rows)  threads=(TG)
// tune: TG = 32, 64, 128, 256
// tune: KEEP = 8, 1, 4, 16
// defaults: cuda TG = 128, KEEP = 4
// defaults: cuda float16 bfloat16 TG = 64
// dtypes: float32, float16, bfloat16
#include "metalbench/norm.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void layer_norm(device const DTYPE* x, device DTYPE* y, constant uint& cols,
                           constant float& eps, uint row [[threadgroup_position_in_grid]],
                           uint thread_index [[thread_index_in_threadgroup]],
                           uint lane [[thread_index_in_simdgroup]],
                           uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const Place place = {thread_index, lane, simdgroup};
  threadgroup MomentMemory<TG / 32> memory;
  device DTYPE* to = y + ulong(row) * cols;
  if (cols % 4 == 0) {
    standardise_row<TG, KEEP>(row_of<true>(x, row, cols), to, eps, memory, place);
  } else {
    standardise_row<TG, KEEP>(row_of(x, row, cols), to, eps, memory, place);
  }
}
