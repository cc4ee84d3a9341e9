// clamp(a sigmoid(a + 3) / 6 - a number, -1, 1) of the logsumexp a over the channels of a
// transposed convolution, 3 x 3 x 3 taps, steps of 2, channels last. The convolution itself is
// never in memory: each tile leaves one state of what it has of a pixel (metalbench/row_shares.h).
// dispatch: convolve  threadgroups=(ceil_div(filters, BN), ceil_div(batch * depth * height * width, BM), 8)  threads=(128)
// dispatch: finish  threads_in_grid=(batch * (2 * depth - 1) * (2 * height - 1) * (2 * width - 1))  threads=(128)
// scratch: shares float32 (batch * (2 * depth - 1) * (2 * height - 1) * (2 * width - 1), 2 * ceil_div(filters, BN), 2)
// tune: BM = 64, 32
// tune: BN = 16, 32
// tune: BK = 16, 8
#include "metalbench/activations.h"
#include "metalbench/row_shares.h"
#include "metalbench/window_products.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void convolve(
    device const float* x, device const float* conv_transpose_weight,
    device const float* conv_transpose_bias, device float* shares, constant uint& batch,
    constant uint& depth, constant uint& height, constant uint& width, constant uint& channels,
    constant uint& filters, uint3 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Steps = Backward<Along<3, 2, 1>, Along<3, 2, 1>, Along<3, 2, 1>>;
  using Sources = WindowTile<float, Steps, BM, BN, BK>;
  threadgroup float4 memory[Sources::kMemory];
  const Sources sources = Sources::of(
      x, conv_transpose_weight, {batch, depth, height, width, channels, channels}, filters, tile.z);
  Sources::Tile product(tile.xy * uint2(BN, BM), memory, PLACE);
  sources.multiply(product);
  product.store(StorePixelShares<RowExpSum, BN, Sources::Input, Biased<float>>{
      shares, sources.patches, filters, {conv_transpose_bias, filters}});
}

[[kernel]] void finish(device const float* shares, device const float* bias, device float* y,
                       constant uint& filters, uint pixel [[thread_position_in_grid]]) {
  const float2 state = join_few<RowExpSum>(shares, pixel, shares_of_row<BN>(filters));
  const float a = log_sum_exp(state);
  y[pixel] = HardTanh()(Sigmoid()(a + 3.0f) * a / 6.0f - bias[0]);
}
