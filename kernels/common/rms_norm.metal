// Row root-mean-square norm: one threadgroup per row, the row read once.
// Each thread keeps KEEP quads of its row in registers (the rest of a longer row is read again
// from the cache). One reduction: a SIMD-group sum, a barrier, and every thread adds the few
// partial sums itself, in the same order, which is cheaper than a second round.
// dispatch: rms_norm  threadgroups=(rows)  threads=(min(TG, max(LEAST, 32 * ceil_div(cols, 128 * KEEP))))
// tune: TG = 1024, 32, 64, 128, 256
// tune: KEEP = 2, 8, 1, 4, 16
// tune: LEAST = 32, 1024
// defaults: cpu TG = 32, KEEP = 8
// defaults: cuda TG = 128, KEEP = 4, LEAST = 1024
// dtypes: float32, float16, bfloat16
#include "metalbench/norm.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void rms_norm(
    device const DTYPE* x, device DTYPE* y, constant uint& cols, constant float& eps,
    uint row [[threadgroup_position_in_grid]], ROW_PLACE_ARGUMENTS) {
  const auto place = ROW_PLACE(LEAST, TG);
  threadgroup float partial[TG / 32];
  device DTYPE* to = y + ulong(row) * cols;
  if (cols % 4 == 0) {
    scale_row_by_rms<TG, KEEP>(row_of<true>(x, row, cols), to, eps, partial, place);
  } else {
    scale_row_by_rms<TG, KEEP>(row_of(x, row, cols), to, eps, partial, place);
  }
}
