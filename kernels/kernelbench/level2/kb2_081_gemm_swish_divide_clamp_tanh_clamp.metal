// tanh(clamp(silu(x W + b) / 2, -1, 1)), on the sums of the product as they leave the registers.
// What tanh gives is within [-1, 1]: the second clamp has nothing to do.
// dispatch: linear  threadgroups=(ceil_div(features, BN), ceil_div(batch, BM))  threads=(128)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: BUFFERS = 1, 2
// defaults: cpu BM = 32, BN = 32, BUFFERS = 2
// defaults: cuda BM = 32, BN = 32, BUFFERS = 2
#include "metalbench/activations.h"
#include "metalbench/linear.h"
using namespace metalbench;

struct ClippedTanh {
  float4 operator()(float4 v) const { return Tanh()(HardTanh()(0.5f * Silu()(v))); }
};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void linear(
    device const float* x, device const float* gemm_weight, device const float* gemm_bias,
    device float* y, constant uint& batch, constant uint& inner, constant uint& features,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Layer = Linear<BM, BN, BK>;
  threadgroup float4 memory[Layer::kMemory];
  const Layer layer = {x, gemm_weight, batch, inner, features};
  layer.store(y, BiasedThen<float, ClippedTanh>{{gemm_bias, features}}, tile, memory, PLACE);
}
