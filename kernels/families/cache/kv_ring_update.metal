// New rows into a cache of which all but the first rows are a ring, as models that attend to a
// window keep it. In place: row t goes to the place t behind where the ring goes on, in quads of
// columns. Other rows are not touched.
// inout: cache
// dispatch: update  threads_in_grid=(ceil_div(dims, 4), tokens, heads)  threads=(32, ROWS, 1)
// tune: ROWS = 8, 4, 16
// dtypes: float32, float16, bfloat16
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(32 * ROWS)]] void update(
    device DTYPE* cache, device const DTYPE* fresh, device const uint* start,
    constant uint& heads, constant uint& length, constant uint& dims, constant uint& kept,
    uint3 at [[thread_position_in_grid]]) {
  const uint row = kept + (*start + at.y) % (length - kept);
  device const DTYPE* from = fresh + (ulong(at.y) * heads + at.z) * dims;
  device DTYPE* to = cache + (ulong(at.z) * length + row) * dims;
  store_quad(to, 4 * at.x, dims, load_quad(from, 4 * at.x, dims));
}
