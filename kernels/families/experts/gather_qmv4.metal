// Each token times the matrix of its expert, weights of 3 to 8 bits: a SIMD-group computes ROWS elements of
// one token's result, as a plain matrix times a vector does, from that expert's part of the
// weights. Tokens of one expert find its rows in the cache.
// dispatch: gather_qmv  threadgroups=(ceil_div(rows, ROWS * TG / 32), tokens)  threads=(TG)
// instance: q4_g64 BITS = 4, GROUP = 64
// instance: q3_g64 BITS = 3, GROUP = 64
// instance: q6_g64 BITS = 6, GROUP = 64
// instance: q8_g64 BITS = 8, GROUP = 64
// tune: TG = 64, 32, 128, 256
// tune: ROWS = 4, 2, 8
// tune: HALVES = 1, 0
// defaults: cpu HALVES = 0
// defaults: cuda HALVES = 0
// dtypes: float32, float16, bfloat16
// limits: cols % GROUP == 0
#include "metalbench/quantised_matvec.h"
using namespace metalbench;

[[kernel]] void gather_qmv(device const DTYPE* x, device const uint* expert, device const uint* w,
                           device const DTYPE* w_scales, device const DTYPE* w_biases,
                           device DTYPE* y, constant uint& rows, constant uint& cols,
                           uint2 group [[threadgroup_position_in_grid]],
                           uint lane [[thread_index_in_simdgroup]],
                           uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  using Format = WholeNumbers<DTYPE, BITS, GROUP, HALVES>;
  const Weights<Format> weights = {w, {w_scales, w_biases}, cols};
  const uint first = (group.x * (TG / 32) + simdgroup) * ROWS;
  const PlainVector<DTYPE> vector = {x + ulong(group.y) * cols};
  quantised_matvec<ROWS, 1>(weights.from_row(ulong(expert[group.y]) * rows), vector,
                         y + ulong(group.y) * rows, rows, first, lane);
}
