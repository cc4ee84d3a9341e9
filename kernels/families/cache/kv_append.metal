// New rows into a cache. What the cache has goes over in quads, then the new rows go where their
// positions say: a token's heads lie side by side in what came, and far apart in the cache. Two
// launches, so that no thread has to look for its position among those that are overwritten.
// dispatch: copy  threads_in_grid=(ceil_div(heads * length * dims, 4))  threads=(TG)
// dispatch: place  threads_in_grid=(ceil_div(dims, 4), tokens, heads)  threads=(32, TG / 32, 1)
// tune: TG = 256, 64, 128
// dtypes: float32, float16, bfloat16
// limits: heads * length * dims <= 4294967292
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void copy(device const DTYPE* cache, device DTYPE* y, constant uint& heads,
                     constant uint& length, constant uint& dims,
                     uint i [[thread_position_in_grid]]) {
  const uint count = heads * length * dims;
  store_quad(y, 4 * i, count, load_quad(cache, 4 * i, count));
}

[[kernel]] void place(device const DTYPE* fresh, device const uint* position,
                      device DTYPE* y, constant uint& heads, constant uint& length,
                      constant uint& dims, uint3 at [[thread_position_in_grid]]) {
  device const DTYPE* from = fresh + (ulong(at.y) * heads + at.z) * dims;
  device DTYPE* to = y + (ulong(at.z) * length + position[at.y]) * dims;
  store_quad(to, 4 * at.x, dims, load_quad(from, 4 * at.x, dims));
}
