// gelu(the sum down each column of pixels of the least channel of a transposed convolution) + a
// number, 3 x 3 taps, steps of 2, channels last. The convolution itself is never in memory: each
// tile leaves one number of what it has of a pixel (metalbench/row_shares.h).
// dispatch: convolve  threadgroups=(ceil_div(filters, BN), ceil_div(batch * height * width, BM), 4)  threads=(128)
// dispatch: finish  threadgroups=(2 * width, batch)  threads=(32)
// scratch: shares float32 (batch * 2 * height * 2 * width, 2 * ceil_div(filters, BN))
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
    device const float* x, device const float* conv_transpose_weight,
    device const float* conv_transpose_bias, device float* shares, constant uint& batch,
    constant uint& height, constant uint& width, constant uint& channels, constant uint& filters,
    uint3 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Steps = Backward<Once, Along<3, 2, 1, 1, 1>, Along<3, 2, 1, 1, 1>>;
  using Sources = WindowTile<float, Steps, BM, BN, BK>;
  threadgroup float4 memory[Sources::kMemory];
  const Sources sources = Sources::of(
      x, conv_transpose_weight, {batch, 1, height, width, channels, channels}, filters, tile.z);
  Sources::Tile product(tile.xy * uint2(BN, BM), memory, PLACE);
  sources.multiply(product);
  product.store(StorePixelShares<RowMin, BN, Sources::Input, Biased<float>>{
      shares, sources.patches, filters, {conv_transpose_bias, filters}});
}

[[kernel]] void finish(device const float* shares, device const float* bias, device float* y,
                       constant uint& height, constant uint& width, constant uint& filters,
                       uint2 at [[threadgroup_position_in_grid]],
                       uint lane [[thread_index_in_simdgroup]]) {
  float sum = 0.0f;
  for (uint row = lane; row < 2 * height; row += 32) {
    const ulong pixel = (ulong(at.y) * 2 * height + row) * 2 * width + at.x;
    sum += join_few<RowMin>(shares, pixel, shares_of_row<BN>(filters));
  }
  sum = simd_sum(sum);
  if (lane == 0) {
    y[at.y * 2 * width + at.x] = Gelu()(sum) + bias[0];
  }
}
