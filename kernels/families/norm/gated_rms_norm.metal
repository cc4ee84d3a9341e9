// Root-mean-square norm whose result a gate lets through: y = x / rms(x) w silu(gate), what follows
// the recurrence in gated linear attention. One threadgroup per row; norm, weight and gate in one
// pass, where three kernels would write and read two more matrices.
// dispatch: gated_rms_norm  threadgroups=(rows)  threads=(TG)
// tune: TG = 32, 64, 128, 256
// tune: KEEP = 8, 1, 4
// dtypes: float32, float16, bfloat16
#include "metalbench/norm_epilogues.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void gated_rms_norm(device const DTYPE* x, device const DTYPE* gate,
                               device const DTYPE* w, device DTYPE* y, constant uint& cols,
                               constant float& eps, uint row [[threadgroup_position_in_grid]],
                               uint thread_index [[thread_index_in_threadgroup]],
                               uint lane [[thread_index_in_simdgroup]],
                               uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const Place place = {thread_index, lane, simdgroup};
  threadgroup float partial[TG / 32];
  const RootMeanSquare measure = {eps};
  const ulong start = ulong(row) * cols;
  const WeightedGated<DTYPE> put = {y + start, w, gate + start, cols};
  scale_row_into<TG, KEEP>(measure, row_of(x, row, cols), put, partial, place);
}
