// Norm of a vector, then a matrix of 4- or 8-bit weights, in one pass over the weights: every
// SIMD-group sums the squares of x along with its products, of x times gain, and divides once at the
// end. The vector is read from the cache by all of them, and nothing waits for a norm.
// dispatch: rms_norm_qmv  threadgroups=(ceil_div(rows, ROWS * TG / 32))  threads=(TG)
// instance: q4_g64 BITS = 4, GROUP = 64
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

[[kernel]] void rms_norm_qmv(device const DTYPE* x, device const DTYPE* gain, device const uint* w,
                             device const DTYPE* w_scales, device const DTYPE* w_biases,
                             device DTYPE* y, constant uint& rows, constant uint& cols,
                             uint group [[threadgroup_position_in_grid]],
                             uint lane [[thread_index_in_simdgroup]],
                             uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  using Format = WholeNumbers<DTYPE, BITS, GROUP, HALVES>;
  const Weights<Format> weights = {w, {w_scales, w_biases}, cols};
  const uint first = (group * (TG / 32) + simdgroup) * ROWS;
  const NormedVector<DTYPE> vector = {x, gain, cols, 1e-5f};
  quantised_matvec<ROWS, 1>(weights, vector, y, rows, first, lane);
}
