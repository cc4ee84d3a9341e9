// Dot product of two vectors, a single number, in two dispatches: each threadgroup adds its share
// of the products, one threadgroup then adds the shares. Atomic additions would save the second
// dispatch, but come in another order each time, and so would the last bits.
// dispatch: sum_products  threadgroups=(ceil_div(n, 4 * TG * QUADS))  threads=(TG)
// dispatch: finish  threadgroups=(1)  threads=(128)
// scratch: partial float32 (ceil_div(n, 4 * TG * QUADS))
// tune: TG = 32, 64, 128, 256
// tune: QUADS = 16, 4, 8
#include "metalbench/array_sum.h"
using namespace metal;
using namespace metalbench;

struct Product {
  float4 operator()(float4 a, float4 b) const { return a * b; }
};

[[kernel]] void sum_products(device const float* a, device const float* b, device float* partial,
                             constant uint& n, uint group [[threadgroup_position_in_grid]],
                             uint thread_index [[thread_index_in_threadgroup]],
                             uint lane [[thread_index_in_simdgroup]],
                             uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup float sums[TG / 32];
  const Place place = {thread_index, lane, simdgroup};
  const float sum = sum_of_share<TG, QUADS>(Product(), n, group, sums, place, a, b);
  if (thread_index == 0) {
    partial[group] = sum;
  }
}

[[kernel]] void finish(device const float* partial, device float* y, constant uint& n,
                       uint thread_index [[thread_index_in_threadgroup]],
                       uint lane [[thread_index_in_simdgroup]],
                       uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup float sums[Finishers / 32];
  const Place place = {thread_index, lane, simdgroup};
  const float sum = sum_of_shares(partial, shares_of<TG, QUADS>(n), sums, place);
  if (thread_index == 0) {
    y[0] = sum;
  }
}
