// Attention, softmax(Q K^T / sqrt(dims)) V, in one pass over K and V, with Metal 4's matmul2d.
// metalbench/tensor_attention.h tells how: 16 queries a SIMD-group, whose scores, weights and output
// are cooperative tensors. SIMD-groups have nothing in common, so there is no barrier of the
// threadgroup. Heads of up to 64 dims have an output of half the size.
// dispatch: scaled_dot_product  threadgroups=(ceil_div(queries, 16 * SG))  threads=(32 * SG)
// tune: SG = 4, 1, 2
// dtypes: float32, float16, bfloat16
// limits: dims <= 128
// std: metal4.0
// preferred: m5
#include "metalbench/tensor_attention.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(32 * SG)]] void scaled_dot_product(
    device const DTYPE* q, device const DTYPE* k, device const DTYPE* v, device DTYPE* y,
    constant uint& queries, constant uint& keys, constant uint& dims,
    uint group [[threadgroup_position_in_grid]],
    uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup AttentionExchange<DTYPE> memory[SG];
  const int first = int(16 * (group * SG + simdgroup));
  const auto all_q = matrix_tensor(q, queries, dims);
  const auto all_k = matrix_tensor(k, keys, dims), all_v = matrix_tensor(v, keys, dims);
  const auto all_y = matrix_tensor(y, queries, dims);
  if (dims <= 64) {
    TensorAttention<DTYPE, 64, false>::attend(all_q, all_k, all_v, all_y, first, memory[simdgroup]);
  } else {
    TensorAttention<DTYPE, 128, false>::attend(all_q, all_k, all_v, all_y, first,
                                               memory[simdgroup]);
  }
}
