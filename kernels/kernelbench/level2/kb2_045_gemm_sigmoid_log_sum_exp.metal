// logsumexp over rows of sigmoid(x W + b) V + c. Sigmoid is the map through which the first
// product's sums leave the registers; of the second product each tile leaves one state of what it
// has of a row (metalbench/row_shares.h), which a third dispatch joins.
// dispatch: hide  threadgroups=(ceil_div(hidden, BN), ceil_div(batch, BM))  threads=(128)
// dispatch: linear  threadgroups=(ceil_div(features, BN), ceil_div(batch, BM))  threads=(128)
// dispatch: finish  threadgroups=(batch)  threads=(32)
// scratch: between float32 (batch, hidden)
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

using Layer = Linear<BM, BN, BK>;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void hide(
    device const float* x, device const float* linear1_weight, device const float* linear1_bias,
    device float* between, constant uint& batch, constant uint& inner, constant uint& hidden,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float4 memory[Layer::kMemory];
  const Layer layer = {x, linear1_weight, batch, inner, hidden};
  layer.store(between, BiasedThen<float, Sigmoid>{{linear1_bias, hidden}}, tile, memory, PLACE);
}

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void linear(
    device const float* between, device const float* linear2_weight,
    device const float* linear2_bias, device float* shares, constant uint& batch,
    constant uint& hidden, constant uint& features, uint2 tile [[threadgroup_position_in_grid]],
    PLACE_ARGUMENTS) {
  threadgroup float4 memory[Layer::kMemory];
  const Layer layer = {between, linear2_weight, batch, hidden, features};
  layer.compute(
      StoreRowShares<RowExpSum, BN, Biased<float>>{
          shares, batch, features, {linear2_bias, features}},
      tile, memory, PLACE);
}

[[kernel]] void finish(device const float* shares, device float* y, constant uint& features,
                       uint row [[threadgroup_position_in_grid]],
                       uint lane [[thread_index_in_simdgroup]]) {
  const float2 state = join_row<RowExpSum>(shares, row, shares_of_row<BN>(features), lane);
  if (lane == 0) {
    y[row] = log_sum_exp(state);
  }
}
