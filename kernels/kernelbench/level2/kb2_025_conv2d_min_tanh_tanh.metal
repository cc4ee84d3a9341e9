// tanh(tanh(the least channel of a convolution)), 3 x 3 taps, channels last. The convolution itself
// is never in memory: each tile leaves one number of what it has of a pixel
// (metalbench/row_shares.h).
// dispatch: convolve  threadgroups=(ceil_div(filters, BN), ceil_div(batch * (height - 2) * (width - 2), BM))  threads=(128)
// dispatch: finish  threads_in_grid=(batch * (height - 2) * (width - 2))  threads=(128)
// scratch: shares float32 (batch * (height - 2) * (width - 2), 2 * ceil_div(filters, BN))
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: BUFFERS = 1, 2
// defaults: cpu BUFFERS = 2
// defaults: cuda BUFFERS = 2
#include "metalbench/activations.h"
#include "metalbench/row_shares.h"
#include "metalbench/window_products.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void convolve(
    device const float* x, device const float* conv_weight, device const float* conv_bias,
    device float* shares, constant uint& batch, constant uint& height, constant uint& width,
    constant uint& channels, constant uint& filters, uint3 tile [[threadgroup_position_in_grid]],
    PLACE_ARGUMENTS) {
  using Steps = Forward<Once, Along<3>, Along<3>>;
  using Sources = WindowTile<float, Steps, BM, BN, BK>;
  threadgroup float4 memory[Sources::kMemory];
  const Sources sources =
      Sources::of(x, conv_weight, {batch, 1, height, width, channels, channels}, filters, tile.z);
  Sources::Tile product(tile.xy * uint2(BN, BM), memory, PLACE);
  sources.multiply(product);
  product.store(StorePixelShares<RowMin, BN, Sources::Input, Biased<float>>{
      shares, sources.patches, filters, {conv_bias, filters}});
}

[[kernel]] void finish(device const float* shares, device float* y, constant uint& filters,
                       uint pixel [[thread_position_in_grid]]) {
  const float state = join_few<RowMin>(shares, pixel, shares_of_row<BN>(filters));
  y[pixel] = Tanh()(Tanh()(state));
}
