// Dot product of two vectors, a single number, in two dispatches: each threadgroup adds its share
// of the products, one threadgroup then adds the shares. Atomic additions would save the second
// dispatch, but come in another order each time, and so would the last bits.
// dispatch: sum_products  threadgroups=(ceil_div(n, 4 * TG * QUADS))  threads=(TG)
// check: allow few-threadgroups it adds one number of each threadgroup of the dispatch before
// dispatch: finish  threadgroups=(1)  threads=(128)
// scratch: partial float32 (ceil_div(n, 4 * TG * QUADS))
// tune: TG = 256, 32, 64, 128
// tune: QUADS = 16, 4, 8
// defaults: cpu TG = 32
// defaults: cuda TG = 32
// limits: n <= 4294967292
#include "metalbench/array_sum.h"
using namespace metal;
using namespace metalbench;

struct Product {
  float4 operator()(float4 a, float4 b) const { return a * b; }
};

[[kernel]] void sum_products(device const float* a, device const float* b, device float* partial,
                             constant uint& n, uint group [[threadgroup_position_in_grid]],
                             PLACE_ARGUMENTS) {
  threadgroup float sums[TG / 32];
  store_share<TG, QUADS>(Product(), n, group, partial, sums, PLACE, a, b);
}

[[kernel]] void finish(device const float* partial, device float* y, constant uint& n,
                       PLACE_ARGUMENTS) {
  threadgroup float sums[Finishers / 32];
  const float sum = sum_of_shares(partial, shares_of<TG, QUADS>(n), sums, PLACE);
  if (thread_index == 0) {
    y[0] = sum;
  }
}
