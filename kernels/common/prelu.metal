// PReLU: y = x for x >= 0, else a x with a slope for each channel. A thread keeps the four slopes
// of its channels in registers for ROWS rows, so that slopes are loaded once for ROWS quads of x.
// dispatch: prelu  threads_in_grid=(ceil_div(cols, 4), ceil_div(rows, ROWS))  threads=(TG)
// tune: TG = 256, 64, 128, 512
// tune: ROWS = 4, 1, 2, 8
// dtypes: float32, float16, bfloat16
#include "metalbench/elementwise.h"
using namespace metal;
using namespace metalbench;

struct Prelu {
  float4 operator()(float4 x, float4 slope) const { return select(x, slope * x, x < 0.0f); }
};

[[kernel, max_total_threads_per_threadgroup(TG)]] void prelu(
    device const DTYPE* x, device const DTYPE* slope, device DTYPE* y, constant uint& rows,
    constant uint& cols, uint2 place [[thread_position_in_grid]]) {
  with_row_vector<ROWS>(Prelu(), x, slope, y, rows, cols, place);
}
