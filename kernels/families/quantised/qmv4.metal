// Matrix times vector, weights of 2 to 8 bits with a scale and a bias a group. A lane reads 32
// codes of each of ROWS rows, whole words side by side, and 32 elements of x that serve all of
// these rows. s q + b is never made: the sum of q x is scaled once a run, and the bias takes the
// sum of x, which rows share.
// dispatch: qmv  threadgroups=(ceil_div(rows, ROWS * TG / 32))  threads=(TG)
// instance: q4_g64 BITS = 4, GROUP = 64
// instance: q4_g32 BITS = 4, GROUP = 32
// instance: q4_g128 BITS = 4, GROUP = 128
// instance: q2_g64 BITS = 2, GROUP = 64
// instance: q3_g64 BITS = 3, GROUP = 64
// instance: q5_g64 BITS = 5, GROUP = 64
// instance: q6_g64 BITS = 6, GROUP = 64
// instance: q8_g64 BITS = 8, GROUP = 64
// instance: q8_g32 BITS = 8, GROUP = 32
// tune: TG = 64, 32, 128, 256
// tune: ROWS = 4, 1, 2, 8
// dtypes: float32, float16, bfloat16
#include "metalbench/quantised_matvec.h"
using namespace metalbench;

[[kernel]] void qmv(device const DTYPE* x, device const uint* w, device const DTYPE* w_scales,
                    device const DTYPE* w_biases, device DTYPE* y, constant uint& rows,
                    constant uint& cols, uint group [[threadgroup_position_in_grid]],
                    uint lane [[thread_index_in_simdgroup]],
                    uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  using Format = WholeNumbers<DTYPE, BITS, GROUP>;
  const Weights<Format> weights = {w, {w_scales, w_biases}, cols};
  const uint first = (group * (TG / 32) + simdgroup) * ROWS;
  if (first < rows) {
    quantised_matvec<ROWS>(weights, PlainVector<DTYPE>{x}, y, rows, first, lane);
  }
}
