// Heads moved outside of tokens, (tokens, heads, dims) to (heads, tokens, dims), what attention
// asks of a projection: four columns a thread, so that rows of a head are read and written as whole
// pieces; nothing needs to be turned within one.
// dispatch: permute_heads  threads_in_grid=(ceil_div(dims, 4), heads, tokens)  threads=(QUADS, ROWS, 1)
// tune: QUADS = 32, 8, 16, 64
// tune: ROWS = 4, 1, 8
// dtypes: float32, float16, bfloat16
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(QUADS * ROWS)]] void permute_heads(
    device const DTYPE* x, device DTYPE* y, constant uint& tokens, constant uint& heads,
    constant uint& dims, uint3 place [[thread_position_in_grid]]) {
  const ulong from = (ulong(place.z) * heads + place.y) * dims;
  const ulong to = (ulong(place.y) * tokens + place.z) * dims;
  store_quad(y + to, 4 * place.x, dims, load_quad(x + from, 4 * place.x, dims));
}
