// gelu(clamp((x W + b) / 2, -2, 2)), on the sums of the product as they leave the registers.
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

struct ClippedGelu {
  float4 operator()(float4 v) const { return Gelu()(Clip{-2.0f, 2.0f}(0.5f * v)); }
};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void linear(
    device const float* x, device const float* gemm_weight, device const float* gemm_bias,
    device float* y, constant uint& batch, constant uint& inner, constant uint& features,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Layer = Linear<BM, BN, BK>;
  threadgroup float4 memory[Layer::kMemory];
  const Layer layer = {x, gemm_weight, batch, inner, features};
  layer.store(y, BiasedThen<float, ClippedGelu>{{gemm_bias, features}}, tile, memory, PLACE);
}
