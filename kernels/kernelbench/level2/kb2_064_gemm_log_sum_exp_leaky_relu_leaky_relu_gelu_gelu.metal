// gelu(gelu(leaky_relu(leaky_relu(a)))) of the logsumexp a of each row of x W + b. The product is
// never in memory: each tile leaves one state of what it has of a row (metalbench/row_shares.h),
// which a second dispatch joins.
// dispatch: linear  threadgroups=(ceil_div(features, BN), ceil_div(batch, BM))  threads=(128)
// dispatch: finish  threadgroups=(batch)  threads=(32)
// scratch: shares float32 (batch, 2 * ceil_div(features, BN), 2)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: BUFFERS = 1, 2
// defaults: cpu BM = 32, BN = 32, BUFFERS = 2
// defaults: cuda BM = 32, BN = 32, BUFFERS = 2
#include "metalbench/activations.h"
#include "metalbench/linear.h"
#include "metalbench/row_shares.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void linear(
    device const float* x, device const float* linear_weight, device const float* linear_bias,
    device float* shares, constant uint& batch, constant uint& inner, constant uint& features,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Layer = Linear<BM, BN, BK>;
  threadgroup float4 memory[Layer::kMemory];
  const Layer layer = {x, linear_weight, batch, inner, features};
  layer.compute(
      StoreRowShares<RowExpSum, BN, Biased<float>>{
          shares, batch, features, {linear_bias, features}},
      tile, memory, PLACE);
}

[[kernel]] void finish(device const float* shares, device float* y, constant uint& features,
                       uint row [[threadgroup_position_in_grid]],
                       uint lane [[thread_index_in_simdgroup]]) {
  const float2 state = join_row<RowExpSum>(shares, row, shares_of_row<BN>(features), lane);
  if (lane == 0) {
    const LeakyRelu leaky = {0.01f};
    y[row] = Gelu()(Gelu()(leaky(leaky(log_sum_exp(state)))));
  }
}
