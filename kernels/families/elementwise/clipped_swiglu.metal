// g sigmoid(1.702 g) (u + 1) of a gate cut at 7 and a value cut at 7 on both sides: one pass over
// two arrays. A thread has four elements; the exponential hides behind memory.
// dispatch: clipped_swiglu  threads_in_grid=(ceil_div(rows * cols, 4))  threads=(TG)
// tune: TG = 256, 64, 128
// dtypes: float32, float16, bfloat16
#include "metalbench/exponentials.h"
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void clipped_swiglu(device const DTYPE* gate, device const DTYPE* up, device DTYPE* y,
                               constant uint& rows, constant uint& cols,
                               uint i [[thread_position_in_grid]]) {
  const uint count = rows * cols;
  const float4 g = limited(load_quad(gate, 4 * i, count), -INFINITY, 7.0f);
  const float4 u = limited(load_quad(up, 4 * i, count), -7.0f, 7.0f);
  store_quad(y, 4 * i, count, g / (1.0f + precise::exp(-1.702f * g)) * (u + 1.0f));
}
