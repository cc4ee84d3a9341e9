// Rows of tokens, in the order of their experts: choice `order[p]` of all is the token order[p] /
// k, and row p a copy of it. A thread moves four elements; a row's threads read the same index,
// and what a token's k rows have in common is read from memory once if they are near each other.
// dispatch: moe_permute  threads_in_grid=(ceil_div(dims, 4), tokens * k)  threads=(TG, 1)
// tune: TG = 128, 32, 64, 256
// dtypes: float32, float16, bfloat16
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void moe_permute(device const DTYPE* x, device const uint* order, device DTYPE* rows,
                            constant uint& dims, constant uint& k,
                            uint2 at [[thread_position_in_grid]]) {
  device const DTYPE* from = x + ulong(order[at.y] / k) * dims;
  store_quad(rows + ulong(at.y) * dims, 4 * at.x, dims, load_quad(from, 4 * at.x, dims));
}
