// Attention, softmax(Q K^T / sqrt(dims)) V, in one pass over K and V, with Metal 4's matmul2d.
// metalbench/tensor_attention.h tells how: 16 queries a SIMD-group, whose scores, weights and output
// are cooperative tensors. SIMD-groups have nothing in common, so there is no barrier of the
// threadgroup. Heads of up to 64 dims have an output of half the size.
// dispatch: scaled_dot_product  threadgroups=(ceil_div(queries, 16 * SG))  threads=(32 * SG)
// tune: SG = 4, 1, 2, 8
// tune: STAGED = 0, 1
// defaults: cuda float16 bfloat16 STAGED = 1
// dtypes: float32, float16, bfloat16
// limits: dims <= 128
// std: metal4.0
// preferred: m5
// preferred: h100 float16 bfloat16
// preferred: h200 float16 bfloat16
#include "metalbench/tensor_attention.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(32 * SG)]] void scaled_dot_product(
    device const DTYPE* q, device const DTYPE* k, device const DTYPE* v, device DTYPE* y,
    constant uint& queries, constant uint& keys, constant uint& dims,
    uint group [[threadgroup_position_in_grid]],
    uint simdgroup [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
  using Prefill = PrefillAttention<DTYPE, false, SG, STAGED>;
  threadgroup Prefill::Memory memory;
  Prefill::attend({q, queries, dims}, {k, keys, dims}, {v, keys, dims}, {y, queries, dims}, dims,
                  16 * SG * group, simdgroup, lane, memory);
}
