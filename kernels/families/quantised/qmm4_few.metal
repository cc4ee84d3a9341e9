// 2 to 16 rows times the transpose of weights of 4 or 8 bits with a scale and a bias a group. A
// SIMD-group has ROWS rows of the weights. Each is read and unpacked once for all rows of x
// (metalbench/few_rows.h).
// dispatch: qmm_few  threadgroups=(ceil_div(rows, ROWS * TG / 32))  threads=(TG)
// instance: q4_g64 BITS = 4, GROUP = 64
// instance: q8_g64 BITS = 8, GROUP = 64
// tune: TG = 64, 32, 128, 256
// tune: ROWS = 4, 2, 1, 8
// tune: HALVES = 1, 0
// defaults: cpu HALVES = 0, ROWS = 8
// defaults: cuda HALVES = 0
// dtypes: float32, float16, bfloat16
// limits: batch <= 16, cols % GROUP == 0, rows * cols / 4 <= 4294967295
#include "metalbench/few_rows.h"
#include "metalbench/quantised.h"
using namespace metalbench;

[[kernel]] void qmm_few(device const DTYPE* x, device const uint* w, device const DTYPE* w_scales,
                        device const DTYPE* w_biases, device DTYPE* y, constant uint& batch,
                        constant uint& rows, constant uint& cols,
                        uint group [[threadgroup_position_in_grid]],
                        uint lane [[thread_index_in_simdgroup]],
                        uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  using Format = WholeNumbers<DTYPE, BITS, GROUP, HALVES>;
  const Weights<Format> weights = {w, {w_scales, w_biases}, cols};
  multiply_few<ROWS>(weights, x, y, batch, rows, (group * (TG / 32) + simdgroup) * ROWS, lane);
}
