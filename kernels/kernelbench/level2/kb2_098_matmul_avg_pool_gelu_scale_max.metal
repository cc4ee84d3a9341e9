// The largest, over each row of x W + b, of 2 gelu(the mean of 16 columns). The product is never in
// memory: the 16 columns of a window are quads of four neighbouring lanes as the sums leave the
// registers, and each tile leaves the largest of what it has of a row (metalbench/row_shares.h).
// dispatch: linear  threadgroups=(ceil_div(features, BN), ceil_div(batch, BM))  threads=(128)
// dispatch: finish  threadgroups=(batch)  threads=(32)
// scratch: shares float32 (batch, 2 * ceil_div(features, BN))
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

// Columns past the last whole window belong to none: they count as a window of -inf.
struct WindowsOf16 {
  Biased<float> bias;
  float4 operator()(float4 v, uint row, uint column) const {
    const float sum = join_lanes<RowTotal, 4>(total(bias(v, row, column)));
    const bool whole = column / 16 < bias.cols / 16;
    return float4(whole ? 2.0f * Gelu()(sum / 16.0f) : -INFINITY);
  }
};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void linear(
    device const float* x, device const float* matmul_weight, device const float* matmul_bias,
    device float* shares, constant uint& batch, constant uint& inner, constant uint& features,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Layer = Linear<BM, BN, BK>;
  threadgroup float4 memory[Layer::kMemory];
  const Layer layer = {x, matmul_weight, batch, inner, features};
  layer.compute(
      StoreRowShares<RowMax, BN, WindowsOf16>{shares, batch, features, {{matmul_bias, features}}},
      tile, memory, PLACE);
}

[[kernel]] void finish(device const float* shares, device float* y, constant uint& features,
                       uint row [[threadgroup_position_in_grid]],
                       uint lane [[thread_index_in_simdgroup]]) {
  const float top = join_row<RowMax>(shares, row, shares_of_row<BN>(features), lane);
  if (lane == 0) {
    y[row] = top;
  }
}
