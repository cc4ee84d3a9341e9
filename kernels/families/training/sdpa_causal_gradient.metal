// Gradients of attention, causal or not, of queries, keys and values; heads share keys. Scores are
// computed anew from the log-sum-exp that the forward pass stored (attention_gradient.h): row sums of
// dO * O first, then keys and values by blocks of keys, then queries by blocks of queries. Each sum
// has one owner and one order: no atomics, equal bits in every run.
// dispatch: sum_products  threads_in_grid=(32, heads * tokens)  threads=(32, 4)
// dispatch: of_keys  threadgroups=(ceil_div(tokens, 8 * EIGHTS), kv_heads)  threads=(64 * EIGHTS)
// dispatch: of_queries  threadgroups=(ceil_div(tokens, 8 * EIGHTS), heads)  threads=(64 * EIGHTS)
// scratch: products float32 (heads, tokens)
// tune: EIGHTS = 4, 1, 2
// instance: causal CAUSAL = 1
// instance: bidirectional CAUSAL = 0
// dtypes: float32, float16, bfloat16
// limits: dims <= 128, heads % kv_heads == 0
#include "metalbench/attention_gradient.h"
using namespace metalbench;

// Rows that pass at a time: with 32, tiles of float32 would not fit into threadgroup memory.
constant constexpr uint kPass = 16;

[[kernel]] void sum_products(device const DTYPE* y, device const DTYPE* dy, device float* products,
                             constant uint& dims, uint2 at [[thread_position_in_grid]],
                             uint lane [[thread_index_in_simdgroup]]) {
  const ulong row = ulong(at.y) * dims;
  const float sum = product_sum(y + row, dy + row, dims, lane);
  if (lane == 0) {
    products[at.y] = sum;
  }
}

[[kernel, max_total_threads_per_threadgroup(64 * EIGHTS)]] void of_keys(
    device const DTYPE* q, device const DTYPE* k, device const DTYPE* v, device const DTYPE* dy,
    device const float* lse, device const float* products, device DTYPE* dk, device DTYPE* dv,
    constant uint& heads, constant uint& kv_heads, constant uint& tokens, constant uint& dims,
    uint2 group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  // check: allow threadgroup-memory tiles of float32; halves take half as much
  threadgroup AttentionGradient<DTYPE, EIGHTS, 128, kPass, CAUSAL, true>::Memory memory;
  const GradientArrays<DTYPE> of = {q, k, v, dy, lse, products, heads, kv_heads, tokens, dims};
  store_key_gradients<EIGHTS, 128, kPass, CAUSAL>(of, dk, dv, group, memory, PLACE);
}

[[kernel, max_total_threads_per_threadgroup(64 * EIGHTS)]] void of_queries(
    device const DTYPE* q, device const DTYPE* k, device const DTYPE* v, device const DTYPE* dy,
    device const float* lse, device const float* products, device DTYPE* dq, constant uint& heads,
    constant uint& kv_heads, constant uint& tokens, constant uint& dims,
    uint2 group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  // check: allow threadgroup-memory tiles of float32; halves take half as much
  threadgroup AttentionGradient<DTYPE, EIGHTS, 128, kPass, CAUSAL, false>::Memory memory;
  const GradientArrays<DTYPE> of = {q, k, v, dy, lse, products, heads, kv_heads, tokens, dims};
  store_query_gradients<EIGHTS, 128, kPass, CAUSAL>(of, dq, group, memory, PLACE);
}
