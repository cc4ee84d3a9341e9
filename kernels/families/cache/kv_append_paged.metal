// New rows into a cache in pages: what the cache has goes over in quads, then each token's heads go
// into its slot, rows of a head being neighbours within a page. Two dispatches, so that no row has
// to look for its slot among those that are overwritten.
// dispatch: copy  threads_in_grid=(ceil_div(pages * heads * page * dims, 4))  threads=(TG)
// dispatch: place  threads_in_grid=(ceil_div(dims, 4), tokens, heads)  threads=(32, TG / 32, 1)
// tune: TG = 256, 64, 128
// dtypes: float32, float16, bfloat16
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void copy(device const DTYPE* cache, device DTYPE* y, constant uint& pages,
                     constant uint& heads, constant uint& page, constant uint& dims,
                     uint i [[thread_position_in_grid]]) {
  const uint count = pages * heads * page * dims;
  store_quad(y, 4 * i, count, load_quad(cache, 4 * i, count));
}

[[kernel]] void place(device const DTYPE* fresh, device const uint* slot, device DTYPE* y,
                      constant uint& heads, constant uint& page, constant uint& dims,
                      uint3 at [[thread_position_in_grid]]) {
  const uint to = slot[at.y];
  const ulong row = (ulong(to / page) * heads + at.z) * page + to % page;
  device const DTYPE* from = fresh + (ulong(at.y) * heads + at.z) * dims;
  store_quad(y + row * dims, 4 * at.x, dims, load_quad(from, 4 * at.x, dims));
}
