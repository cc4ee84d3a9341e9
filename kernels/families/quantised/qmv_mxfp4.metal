// Matrix times vector, weights in mxfp4: small floats with a scale of eight bits a group. A lane
// reads 32 codes of each of ROWS rows, whole words side by side, and 32 elements of x that serve
// all of these rows. Codes become floats by their bits.
// dispatch: qmv  threadgroups=(ceil_div(rows, ROWS * TG / 32))  threads=(TG)
// tune: TG = 64, 32, 128, 256
// tune: ROWS = 4, 1, 2, 8
// dtypes: float32, float16, bfloat16
// limits: cols % 32 == 0
#include "metalbench/quantised_matvec.h"
using namespace metalbench;

[[kernel]] void qmv(device const DTYPE* x, device const uint* w, device const uchar* w_scales,
                    device DTYPE* y, constant uint& rows, constant uint& cols,
                    uint group [[threadgroup_position_in_grid]],
                    uint lane [[thread_index_in_simdgroup]],
                    uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const Weights<MxFp4> weights = {w, {w_scales}, cols};
  const uint first = (group * (TG / 32) + simdgroup) * ROWS;
  quantised_matvec<ROWS, 1>(weights, PlainVector<DTYPE>{x}, y, rows, first, lane);
}
