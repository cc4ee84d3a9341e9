// Rows of a paged cache side by side, as kernels that know no pages want them: one thread moves
// four columns of a row. All rows of a page and head are neighbours on both sides, so that lanes
// read and write whole cache lines. Nothing is computed: the bits are those of the cache.
// dispatch: gather  threads_in_grid=(ceil_div(dims, 4), named * page, heads)  threads=(32, ROWS, 1)
// tune: ROWS = 8, 4, 16
// dtypes: float32, float16, bfloat16
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(32 * ROWS)]] void gather(
    device const DTYPE* cache, device const uint* table, device DTYPE* y, constant uint& heads,
    constant uint& named, constant uint& page, constant uint& dims,
    uint3 at [[thread_position_in_grid]]) {
  const ulong row = (ulong(table[at.y / page]) * heads + at.z) * page + at.y % page;
  device DTYPE* to = y + (ulong(at.z) * named * page + at.y) * dims;
  store_quad(to, 4 * at.x, dims, load_quad(cache + row * dims, 4 * at.x, dims));
}
