// Queries and keys normalised head by head, each with weights that its heads share, at once: a head
// has some hundred elements, so a SIMD-group takes it alone, without threadgroup memory or
// barriers. Heads of queries come first in the grid, those of keys after them.
// dispatch: qk_norm  threadgroups=(ceil_div(tokens * (heads + kv_heads), TG / 32))  threads=(TG)
// tune: TG = 128, 32, 64, 256
// tune: KEEP = 1, 2, 4
// dtypes: float32, float16, bfloat16
#include "metalbench/norm.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void qk_norm(device const DTYPE* q, device const DTYPE* k, device const DTYPE* w_q,
                        device const DTYPE* w_k, device DTYPE* q_normed, device DTYPE* k_normed,
                        constant uint& tokens, constant uint& heads, constant uint& kv_heads,
                        constant uint& dims, constant float& eps,
                        uint group [[threadgroup_position_in_grid]],
                        uint lane [[thread_index_in_simdgroup]],
                        uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const uint of_queries = tokens * heads;
  const uint row = group * (TG / 32) + simdgroup;
  if (row >= of_queries + tokens * kv_heads) {
    return;
  }
  const bool query = row < of_queries;
  const uint own = query ? row : row - of_queries;
  const Weighted<DTYPE> to = {(query ? q_normed : k_normed) + ulong(own) * dims, query ? w_q : w_k,
                              nullptr, dims};
  threadgroup float unused[1];
  scale_row_by_rms_into<32, KEEP>(row_of(query ? q : k, own, dims), to, eps, unused,
                                  Place{lane, lane, 0});
}
