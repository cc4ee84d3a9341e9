// 2 to 16 rows times the transpose of weights of small floats: mxfp4, mxfp8 or nvfp4. A SIMD-group
// has ROWS rows of the weights. Each is read and unpacked once for all rows of x
// (metalbench/few_rows.h).
// dispatch: qmm_few  threadgroups=(ceil_div(rows, ROWS * TG / 32))  threads=(TG)
// instance: mxfp4 BITS = 4, GROUP = 32
// instance: mxfp8 BITS = 8, GROUP = 32
// instance: nvfp4 BITS = 4, GROUP = 16
// tune: TG = 64, 32, 128, 256
// tune: ROWS = 4, 2, 1, 8
// defaults: cpu ROWS = 8
// dtypes: float32, float16, bfloat16
// limits: batch <= 16, cols % 32 == 0, rows * cols / 4 <= 4294967295
#include "metalbench/few_rows.h"
#include "metalbench/quantised.h"
using namespace metalbench;

[[kernel]] void qmm_few(device const DTYPE* x, device const uint* w, device const uchar* w_scales,
                        device DTYPE* y, constant uint& batch, constant uint& rows,
                        constant uint& cols, uint group [[threadgroup_position_in_grid]],
                        uint lane [[thread_index_in_simdgroup]],
                        uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  using Format = SmallFloats<BITS, GROUP>;
  const Weights<Format> weights = {w, {w_scales}, cols};
  multiply_few<ROWS>(weights, x, y, batch, rows, (group * (TG / 32) + simdgroup) * ROWS, lane);
}
