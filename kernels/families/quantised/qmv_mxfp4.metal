// Matrix times vector, weights of small floats: mxfp4, mxfp8 or nvfp4, with a scale of eight bits a
// group. A lane reads 16 or 32 codes of each of ROWS rows, whole words that follow each other, and as
// many elements of x, which serve all of these rows. Codes become floats by their bits.
// dispatch: qmv  threadgroups=(ceil_div(rows, ROWS * TG / 32))  threads=(TG)
// instance: mxfp4 BITS = 4, GROUP = 32
// instance: mxfp8 BITS = 8, GROUP = 32
// instance: nvfp4 BITS = 4, GROUP = 16
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
  using Format = SmallFloats<BITS, GROUP>;
  const Weights<Format> weights = {w, {w_scales}, cols};
  const uint first = (group * (TG / 32) + simdgroup) * ROWS;
  quantised_matvec<ROWS, 1>(weights, PlainVector<DTYPE>{x}, y, rows, first, lane);
}
