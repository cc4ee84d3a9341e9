// Every head a number of times in a row, as keys and values are where attention knows no groups: a
// thread reads four columns once and writes them to each of the copies, so that memory is read only
// once for all of them.
// dispatch: repeat_heads  threads_in_grid=(ceil_div(dims, 4), tokens, heads)  threads=(QUADS, ROWS, 1)
// tune: QUADS = 32, 8, 16, 64
// tune: ROWS = 4, 1, 8
// dtypes: float32, float16, bfloat16
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(QUADS * ROWS)]] void repeat_heads(
    device const DTYPE* x, device DTYPE* y, constant uint& tokens, constant uint& dims,
    constant int& copies, uint3 place [[thread_position_in_grid]]) {
  const float4 v = load_quad(x + (ulong(place.z) * tokens + place.y) * dims, 4 * place.x, dims);
  y += (ulong(place.z) * uint(copies) * tokens + place.y) * dims;
  const ulong pitch = ulong(tokens) * dims;
  for (uint copy = 0; copy < uint(copies); ++copy, y += pitch) {
    store_quad(y, 4 * place.x, dims, v);
  }
}
