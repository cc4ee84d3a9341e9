// Row layer norm with weight and bias: one threadgroup per row, the row read once into registers,
// the variance taken from deviations in a second pass over these. Weight and bias come from the
// cache and are applied as one fused multiply-add on the way to memory.
// dispatch: layer_norm_affine  threadgroups=(rows)  threads=(TG)
// tune: TG = 32, 64, 128, 256
// tune: KEEP = 8, 1, 4
// dtypes: float32, float16, bfloat16
#include "metalbench/norm_epilogues.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void layer_norm_affine(device const DTYPE* x, device const DTYPE* w,
                                  device const DTYPE* b, device DTYPE* y, constant uint& cols,
                                  constant float& eps, uint row [[threadgroup_position_in_grid]],
                                  uint thread_index [[thread_index_in_threadgroup]],
                                  uint lane [[thread_index_in_simdgroup]],
                                  uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const Place place = {thread_index, lane, simdgroup};
  threadgroup MomentMemory<TG / 32> memory;
  const WeightedAdded<DTYPE> put = {y + ulong(row) * cols, w, b, cols};
  standardise_row_into<TG, KEEP>(row_of(x, row, cols), put, eps, memory, place);
}
