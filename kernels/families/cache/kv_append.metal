// New rows into a cache, in place: each goes where its position says, in quads of columns. A token's
// heads lie side by side in what came, and far apart in the cache. Other rows are not touched.
// inout: cache
// dispatch: place  threads_in_grid=(ceil_div(dims, 4), tokens, heads)  threads=(32, TG / 32, 1)
// tune: TG = 256, 64, 128
// dtypes: float32, float16, bfloat16
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void place(device DTYPE* cache, device const DTYPE* fresh,
                      device const uint* position, constant uint& heads, constant uint& length,
                      constant uint& dims, uint3 at [[thread_position_in_grid]]) {
  device const DTYPE* from = fresh + (ulong(at.y) * heads + at.z) * dims;
  device DTYPE* to = cache + (ulong(at.z) * length + position[at.y]) * dims;
  store_quad(to, 4 * at.x, dims, load_quad(from, 4 * at.x, dims));
}
