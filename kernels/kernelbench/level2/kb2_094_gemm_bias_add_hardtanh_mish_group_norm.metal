// group_norm(mish(clamp(x W + b + c, -1, 1))). The norm works on the product in place, some lanes a
// group (metalbench/group_rows.h).
// dispatch: linear  threadgroups=(ceil_div(features, BN), ceil_div(batch, BM))  threads=(128)
// dispatch: normalise  threads_in_grid=(batch * groups * LANES)  threads=(128)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: LANES = 8, 4, 16, 32
// tune: BUFFERS = 1, 2
// defaults: cpu BM = 32, BN = 32, BUFFERS = 2
// defaults: cuda BM = 32, BN = 32, BUFFERS = 2
#include "metalbench/activations.h"
#include "metalbench/group_rows.h"
#include "metalbench/linear.h"
using namespace metalbench;

struct ClippedMish {
  Biased<float> linear;
  Biased<float> bias;
  float4 operator()(float4 v, uint row, uint column) const {
    return Mish()(HardTanh()(bias(linear(v, row, column), row, column)));
  }
};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void linear(
    device const float* x, device const float* gemm_weight, device const float* gemm_bias,
    device const float* bias, device float* y, constant uint& batch, constant uint& inner,
    constant uint& features, uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Layer = Linear<BM, BN, BK>;
  threadgroup float4 memory[Layer::kMemory];
  const Layer layer = {x, gemm_weight, batch, inner, features};
  layer.store(y, ClippedMish{{gemm_bias, features}, {bias, features}}, tile, memory, PLACE);
}

[[kernel]] void normalise(device float* y, device const float* groupnorm_weight,
                          device const float* groupnorm_bias, constant uint& batch,
                          constant uint& features, constant uint& groups,
                          uint index [[thread_position_in_grid]]) {
  normalise_groups<LANES>(AffineColumn{groupnorm_weight, groupnorm_bias}, y, y, features / groups,
                          groups, batch * groups, index);
}
