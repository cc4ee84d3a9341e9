// New rows into a cache in pages, in place: each token's heads go into its slot, rows of a head being
// neighbours within a page. Other slots are not touched.
// inout: cache
// dispatch: place  threads_in_grid=(ceil_div(dims, 4), tokens, heads)  threads=(32, TG / 32, 1)
// tune: TG = 256, 64, 128
// dtypes: float32, float16, bfloat16
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void place(device DTYPE* cache, device const DTYPE* fresh, device const uint* slot,
                      constant uint& heads, constant uint& page, constant uint& dims,
                      uint3 at [[thread_position_in_grid]]) {
  const uint to = slot[at.y];
  const ulong row = (ulong(to / page) * heads + at.z) * page + to % page;
  device const DTYPE* from = fresh + (ulong(at.y) * heads + at.z) * dims;
  store_quad(cache + row * dims, 4 * at.x, dims, load_quad(from, 4 * at.x, dims));
}
