// Matrix times vector, weights in blocks of GGUF files (metalbench/gguf_blocks.h). A SIMD-group has
// ROWS rows: a lane unpacks 16 weights of each, and reads the elements of x once for all of them.
// dispatch: qmv  threadgroups=(ceil_div(rows, ROWS * TG / 32))  threads=(TG)
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
// tune: ROWS = 4, 1, 2, 8
// dtypes: float32, float16, bfloat16
// limits: cols % CODES == 0, rows * cols / 32 * 34 <= 4294967295
#include "metalbench/few_rows.h"
#include "metalbench/gguf_blocks.h"
using namespace metalbench;

[[kernel]] void qmv(device const DTYPE* x, device const uchar* w, device DTYPE* y,
                    constant uint& rows, constant uint& cols,
                    uint group [[threadgroup_position_in_grid]],
                    uint lane [[thread_index_in_simdgroup]],
                    uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const Weights<Block<TYPE>> weights = {w, cols};
  multiply_rows<ROWS, 1>(weights, x, y, 1, rows, (group * (TG / 32) + simdgroup) * ROWS, lane);
}
