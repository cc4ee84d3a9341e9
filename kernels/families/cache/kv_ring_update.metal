// New rows into a cache of which all but the first rows are a ring, as models that attend to a
// window keep it. Which token a row gets, if any, follows from its distance to where the ring goes
// on: every row is written once, from where it comes, in one dispatch.
// dispatch: update  threads_in_grid=(ceil_div(dims, 4), length, heads)  threads=(32, ROWS, 1)
// tune: ROWS = 8, 4, 16
// dtypes: float32, float16, bfloat16
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(32 * ROWS)]] void update(
    device const DTYPE* cache, device const DTYPE* fresh, device const uint* start, device DTYPE* y,
    constant uint& heads, constant uint& length, constant uint& tokens, constant uint& dims,
    constant uint& kept, uint3 at [[thread_position_in_grid]]) {
  const uint ring = length - kept;
  const ulong row = ulong(at.z) * length + at.y;
  device const DTYPE* from = cache + row * dims;
  if (at.y >= kept) {
    const uint token = (at.y - kept + ring - *start) % ring;
    if (token < tokens) {
      from = fresh + (ulong(token) * heads + at.z) * dims;
    }
  }
  store_quad(y + row * dims, 4 * at.x, dims, load_quad(from, 4 * at.x, dims));
}
