// y = x + bias, the bias a row vector. A thread keeps the four biases of its columns in registers
// for ROWS rows; as long as a row is longer than a SIMD-group, lanes still read whole cache
// lines.
// dispatch: bias_add  threads_in_grid=(ceil_div(cols, 4), ceil_div(rows, ROWS))  threads=(TG)
// tune: TG = 256, 64, 128, 512
// tune: ROWS = 4, 1, 2, 8
// dtypes: float32, float16, bfloat16
#include "metalbench/elementwise.h"
using namespace metal;
using namespace metalbench;

struct Add {
  float4 operator()(float4 x, float4 bias) const { return x + bias; }
};

[[kernel, max_total_threads_per_threadgroup(TG)]] void bias_add(
    device const DTYPE* x, device const DTYPE* bias, device DTYPE* y, constant uint& rows,
    constant uint& cols, uint2 place [[thread_position_in_grid]]) {
  with_row_vector<ROWS>(Add(), x, bias, y, rows, cols, place);
}
