// log(e^a + e^b), elementwise: the larger one, plus what the other adds to it, log(1 + e^-|a - b|),
// which neither overflows nor loses the smaller one. One pass over two arrays, four elements a
// thread.
// dispatch: logaddexp  threads_in_grid=(ceil_div(rows * cols, 4))  threads=(TG)
// tune: TG = 256, 64, 128
// dtypes: float32, float16, bfloat16
#include "metalbench/exponentials.h"
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void logaddexp(device const DTYPE* a, device const DTYPE* b, device DTYPE* y,
                          constant uint& rows, constant uint& cols,
                          uint i [[thread_position_in_grid]]) {
  const uint count = rows * cols;
  const float4 first = load_quad(a, 4 * i, count), second = load_quad(b, 4 * i, count);
  const float4 apart = abs(first - second);
  store_quad(y, 4 * i, count, max(first, second) + log_one_plus_exp_minus(apart));
}
