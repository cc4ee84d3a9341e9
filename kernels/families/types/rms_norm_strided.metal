// Root-mean-square norms of the query heads of a packed projection, without a copy of the queries: rows
// of `dims` elements, of which a token has `heads`, and tokens that are as far apart as all heads of
// queries, keys and values are wide. A SIMD-group has a row, which is read again from the cache for
// the result; nothing waits at a barrier.
// let: token_stride = (heads + 2 * kv_heads) * dims
// dispatch: rms_norm  threadgroups=(ceil_div(tokens * heads, ROWS))  threads=(32, ROWS)
// tune: ROWS = 8, 2, 4, 16
// dtypes: float32, float16, bfloat16
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(32 * ROWS)]] void rms_norm(
    device const DTYPE* qkv, device const DTYPE* w, device DTYPE* y, constant uint& tokens,
    constant uint& heads, constant uint& dims, constant uint& token_stride, constant float& eps,
    uint group [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
    uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const uint row = group * ROWS + simdgroup;
  if (row >= tokens * heads) {
    return;
  }
  device const DTYPE* from = qkv + ulong(row / heads) * token_stride + row % heads * dims;
  device DTYPE* to = y + ulong(row) * dims;
  float sum = 0.0f;
  for (uint column = 4 * lane; column < dims; column += 128) {
    const float4 v = load_quad(from, column, dims);
    sum += total(v * v);
  }
  const float scale = rsqrt(simd_sum(sum) / float(dims) + eps);
  for (uint column = 4 * lane; column < dims; column += 128) {
    store_quad(to, column, dims, load_quad(from, column, dims) * scale * load_quad(w, column, dims));
  }
}
