// The last half of a mixture of experts when decoding. First silu(gate) * up times the expert's
// weight, once for each of a token's experts; then each SIMD-group makes ROWS elements of a token:
// the rows of all its experts' matrices add up in the same registers, so that the experts' results
// are never in memory, and lanes are summed once.
// dispatch: activate  threads_in_grid=(inner, tokens * k)  threads=(TG, 1)
// dispatch: moe_down_combine  threadgroups=(ceil_div(dims, ROWS * TG / 32), tokens)  threads=(TG)
// scratch: hidden float32 (tokens * k, inner)
// tune: TG = 64, 32, 128, 256
// tune: ROWS = 4, 2, 8
// dtypes: float32, float16, bfloat16
#include "metalbench/activations.h"
#include "metalbench/matvec.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void activate(device const DTYPE* gate, device const DTYPE* up,
                         device const DTYPE* weights, device float* hidden, constant uint& inner,
                         uint2 at [[thread_position_in_grid]]) {
  const ulong i = ulong(at.y) * inner + at.x;
  hidden[i] = Silu()(float(gate[i])) * float(up[i]) * float(weights[at.y]);
}

[[kernel]] void moe_down_combine(device const float* hidden, device const uint* expert,
                                 device const DTYPE* w, device DTYPE* y, constant uint& dims,
                                 constant uint& inner, constant uint& k,
                                 uint2 group [[threadgroup_position_in_grid]],
                                 uint lane [[thread_index_in_simdgroup]],
                                 uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const uint first = (group.x * (TG / 32) + simdgroup) * ROWS;
  if (first >= dims) {
    return;
  }
  RowProducts<ROWS> products(first, dims, lane);
  for (uint i = group.y * k; i < (group.y + 1) * k; ++i) {
    device const DTYPE* matrix = w + ulong(expert[i]) * (dims * inner);
    products.add(matrix, inner, VectorQuads<float>{hidden + ulong(i) * inner, inner});
  }
  products.store(y + ulong(group.y) * dims);
}
