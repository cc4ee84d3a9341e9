// 2 to 16 rows times the transpose of weights in blocks of GGUF files (metalbench/gguf_blocks.h). A
// SIMD-group has ROWS rows of the weights. Each is read and unpacked once for all rows of x
// (metalbench/few_rows.h).
// dispatch: qmm_few  threadgroups=(ceil_div(rows, ROWS * TG / 32))  threads=(TG)
// instance: q4_k TYPE = 12, CODES = 256
// instance: q5_k TYPE = 13, CODES = 256
// instance: q6_k TYPE = 14, CODES = 256
// instance: q8_0 TYPE = 8, CODES = 32
// instance: iq4_nl TYPE = 20, CODES = 32
// instance: q4_0 TYPE = 2, CODES = 32
// instance: q4_1 TYPE = 3, CODES = 32
// instance: q5_0 TYPE = 6, CODES = 32
// instance: q5_1 TYPE = 7, CODES = 32
// instance: q2_k TYPE = 10, CODES = 256
// instance: q3_k TYPE = 11, CODES = 256
// instance: iq4_xs TYPE = 23, CODES = 256
// tune: TG = 64, 32, 128, 256
// tune: ROWS = 4, 2, 1, 8
// defaults: cpu ROWS = 8
// dtypes: float32, float16, bfloat16
// limits: batch <= 16, cols % CODES == 0, rows * cols / 32 * 34 <= 4294967295
#include "metalbench/few_rows.h"
#include "metalbench/gguf_blocks.h"
using namespace metalbench;

[[kernel]] void qmm_few(device const DTYPE* x, device const uchar* w, device DTYPE* y,
                        constant uint& batch, constant uint& rows, constant uint& cols,
                        uint group [[threadgroup_position_in_grid]],
                        uint lane [[thread_index_in_simdgroup]],
                        uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const Weights<Block<TYPE>> weights = {w, cols};
  multiply_few<ROWS>(weights, x, y, batch, rows, (group * (TG / 32) + simdgroup) * ROWS, lane);
}
