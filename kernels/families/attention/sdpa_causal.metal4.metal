// Causal attention, heads sharing keys, with Metal 4's matmul2d: one pass of
// metalbench/tensor_attention.h a head, 16 queries a SIMD-group. Each SIMD-group ends at the last key
// that one of its queries sees. Threadgroups of one head follow each other, so that its keys and
// values stay in the cache.
// dispatch: sdpa_causal  threadgroups=(ceil_div(tokens, 16 * SG), heads)  threads=(32 * SG)
// tune: SG = 4, 1, 2
// dtypes: float32, float16, bfloat16
// limits: dims <= 128, heads % kv_heads == 0
// std: metal4.0
// preferred: m5
#include "metalbench/tensor_attention.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(32 * SG)]] void sdpa_causal(
    device const DTYPE* q, device const DTYPE* k, device const DTYPE* v, device DTYPE* y,
    constant uint& heads, constant uint& kv_heads, constant uint& tokens, constant uint& dims,
    uint2 group [[threadgroup_position_in_grid]],
    uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup AttentionExchange<DTYPE> memory[SG];
  const ulong own = ulong(group.y) * tokens * dims;
  const ulong shared = ulong(group.y / (heads / kv_heads)) * tokens * dims;
  const auto of_q = matrix_tensor(q + own, tokens, dims);
  const auto of_k = matrix_tensor(k + shared, tokens, dims);
  const auto of_v = matrix_tensor(v + shared, tokens, dims);
  const auto of_y = matrix_tensor(y + own, tokens, dims);
  const int first = int(16 * (group.x * SG + simdgroup));
  if (dims <= 64) {
    TensorAttention<DTYPE, 64, true>::attend(of_q, of_k, of_v, of_y, first, memory[simdgroup]);
  } else {
    TensorAttention<DTYPE, 128, true>::attend(of_q, of_k, of_v, of_y, first, memory[simdgroup]);
  }
}
