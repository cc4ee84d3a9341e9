// Depthwise convolution of 3 x 3 taps, padded by 1, then one of single pixels, channels last: the
// first is bound by memory (metalbench/depthwise.h), the second a matrix product.
// dispatch: convolve  threads_in_grid=(ceil_div(channels, 4) * width, ceil_div(height, ROWS), batch)  threads=(TG)
// dispatch: mix  threadgroups=(ceil_div(filters, BN), ceil_div(batch * height * width, BM))  threads=(128)
// scratch: between float32 (batch, height, width, channels)
// tune: ROWS = 8, 4, 16
// tune: TG = 128, 64, 256
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BUFFERS = 1, 2
// defaults: cpu BUFFERS = 2
// defaults: cuda BUFFERS = 2
#include "metalbench/depthwise.h"
#include "metalbench/epilogues.h"
#include "metalbench/tiles.h"
using namespace metalbench;

[[kernel]] void convolve(device const float* x, device const float* depthwise_weight,
                         device float* between, constant uint& height, constant uint& width,
                         constant uint& channels, uint3 where [[thread_position_in_grid]]) {
  using Three = Along<3, 1, 1>;
  depthwise<ROWS, Three, Three>(x, depthwise_weight, between, height, width, channels, where);
}

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void mix(
    device const float* between, device const float* pointwise_weight, device float* y,
    constant uint& batch, constant uint& height, constant uint& width, constant uint& channels,
    constant uint& filters, uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Tile = Product<MatrixRows<float>, MatrixRows<float>, BM, BN, 16>;
  threadgroup float4 memory[Tile::kMemory];
  const uint pixels = batch * height * width;
  Tile product(tile * uint2(BN, BM), memory, PLACE);
  product.multiply({between, pixels, channels}, {pointwise_weight, filters, channels}, channels);
  product.store(Store<float>{y, pixels, filters});
}
