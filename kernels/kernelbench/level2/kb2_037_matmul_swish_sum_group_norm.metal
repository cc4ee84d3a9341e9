// group_norm(silu(x W + b) + c). The norm works on the product in place, some lanes a group
// (metalbench/group_rows.h).
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

struct SiluThenBias {
  Biased<float> linear;
  Biased<float> bias;
  float4 operator()(float4 v, uint row, uint column) const {
    return bias(Silu()(linear(v, row, column)), row, column);
  }
};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void linear(
    device const float* x, device const float* matmul_weight, device const float* matmul_bias,
    device const float* bias, device float* y, constant uint& batch, constant uint& inner,
    constant uint& features, uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Layer = Linear<BM, BN, BK>;
  threadgroup float4 memory[Layer::kMemory];
  const Layer layer = {x, matmul_weight, batch, inner, features};
  layer.store(y, SiluThenBias{{matmul_bias, features}, {bias, features}}, tile, memory, PLACE);
}

[[kernel]] void normalise(device float* y, device const float* group_norm_weight,
                          device const float* group_norm_bias, constant uint& batch,
                          constant uint& features, constant uint& groups,
                          uint index [[thread_position_in_grid]]) {
  normalise_groups<LANES>(AffineColumn{group_norm_weight, group_norm_bias}, y, y, features / groups,
                          groups, batch * groups, index);
}
