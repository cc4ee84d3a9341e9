// residual + rms_norm(x) * weight: one threadgroup per row. The residual is read where the result is
// written, so that three arrays go through memory once instead of the five passes of two kernels.
// dispatch: rms_norm_residual  threadgroups=(rows)  threads=(TG)
// tune: TG = 32, 64, 128, 256
// tune: KEEP = 8, 1, 4
// dtypes: float32, float16, bfloat16
#include "metalbench/weighted_norm.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void rms_norm_residual(device const DTYPE* x, device const DTYPE* weight,
                                  device const DTYPE* residual, device DTYPE* y,
                                  constant uint& cols, constant float& eps,
                                  uint row [[threadgroup_position_in_grid]],
                                  uint thread_index [[thread_index_in_threadgroup]],
                                  uint lane [[thread_index_in_simdgroup]],
                                  uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const Place place = {thread_index, lane, simdgroup};
  threadgroup float partial[TG / 32];
  const ulong from = ulong(row) * cols;
  const Weighted<DTYPE> finish = {y + from, weight, residual + from, cols};
  finish_by_rms<TG, KEEP>(row_of(x, row, cols), finish, eps, partial, place);
}
