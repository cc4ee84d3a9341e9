// A residual to which a norm is added, y = residual + x / rms(x) w: layers that normalise what they
// give rather than what they take. One threadgroup per row, x in registers; the residual is read
// where the result is written, as the addend of a fused multiply-add.
// dispatch: rms_norm_residual  threadgroups=(rows)  threads=(TG)
// tune: TG = 32, 64, 128, 256
// tune: KEEP = 8, 1, 4
// dtypes: float32, float16, bfloat16
#include "metalbench/norm_epilogues.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void rms_norm_residual(device const DTYPE* x, device const DTYPE* residual,
                                  device const DTYPE* w, device DTYPE* y, constant uint& cols,
                                  constant float& eps, uint row [[threadgroup_position_in_grid]],
                                  uint thread_index [[thread_index_in_threadgroup]],
                                  uint lane [[thread_index_in_simdgroup]],
                                  uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const Place place = {thread_index, lane, simdgroup};
  threadgroup float partial[TG / 32];
  const RootMeanSquare measure = {eps};
  const ulong start = ulong(row) * cols;
  const WeightedAdded<DTYPE> put = {y + start, w, residual + start, cols};
  scale_row_into<TG, KEEP>(measure, row_of(x, row, cols), put, partial, place);
}
