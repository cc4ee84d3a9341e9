// Convolution of one tap, channels last: pixels are rows of a matrix as they lie in memory, and so
// are filters. Nothing is left of the convolution but a matrix product of both.
// dispatch: conv2d_1x1  threadgroups=(ceil_div(filters, BN), ceil_div(batch * height * width, BM), 1)  threads=(128)
// tune: BM = 64, 32, 128
// tune: BN = 64, 32, 128
// tune: BK = 16, 8, 32
// tune: BUFFERS = 1, 2
// defaults: cpu BUFFERS = 2
// defaults: cuda BUFFERS = 2
// defaults: cuda float32 BN = 128
// defaults: cuda float16 bfloat16 BM = 128, BN = 128, BK = 32
// dtypes: float32, float16, bfloat16
// math: fast
#include "metalbench/window_products.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void conv2d_1x1(
    device const DTYPE* x, device const DTYPE* w, device DTYPE* y, constant uint& batch,
    constant uint& height, constant uint& width, constant uint& channels, constant uint& filters,
    uint3 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Tile = Product<MatrixRows<DTYPE>, MatrixRows<DTYPE>, BM, BN, tile_depth<DTYPE>(BK)>;
  threadgroup float4 memory[Tile::kMemory];
  const uint pixels = batch * height * width;
  Tile product(tile.xy * uint2(BN, BM), memory, PLACE);
  product.multiply({x, pixels, channels}, {w, filters, channels}, channels);
  product.store(Store<DTYPE>{y, pixels, filters});
}
