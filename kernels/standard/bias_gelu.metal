// y = gelu(x + bias), exact, the bias a row vector. The sum is rounded once in float and never
// stored. A thread keeps the four biases of its columns in registers for ROWS rows.
// dispatch: bias_gelu  threads_in_grid=(ceil_div(cols, 4), ceil_div(rows, ROWS))  threads=(TG)
// tune: TG = 256, 64, 128, 512
// tune: ROWS = 4, 1, 2, 8
// dtypes: float32, float16, bfloat16
#include "metalbench/activations.h"
#include "metalbench/elementwise.h"
using namespace metal;
using namespace metalbench;

struct BiasGelu {
  float4 operator()(float4 x, float4 bias) const { return Gelu()(x + bias); }
};

[[kernel, max_total_threads_per_threadgroup(TG)]] void bias_gelu(
    device const DTYPE* x, device const DTYPE* bias, device DTYPE* y, constant uint& rows,
    constant uint& cols, uint2 place [[thread_position_in_grid]]) {
  with_row_vector<ROWS>(BiasGelu(), x, bias, y, rows, cols, place);
}
