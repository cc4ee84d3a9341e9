// 3 x 3 convolution, stride 1, no padding, channels last: an implicit matrix product Y = A W^T.
// Rows of A are output pixels, columns of A and W are taps times channels. A is never stored:
// metalbench/convolution.h finds each quad where it lies in the input, metalbench/tiles.h
// multiplies. Nine taps of a pixel are read by nine rows of A, so all but the first reading comes
// from the cache.
// dispatch: conv2d  threadgroups=(ceil_div(filters, BN), ceil_div(batch * (height - 2) * (width - 2), BM))  threads=(128)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: BUFFERS = 1, 2
// defaults: cpu BUFFERS = 2
// defaults: cuda BUFFERS = 2
// dtypes: float32, float16, bfloat16
// math: fast
#include "metalbench/convolution.h"
#include "metalbench/tiles.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void conv2d(
    device const DTYPE* x, device const DTYPE* w, device DTYPE* y, constant uint& batch,
    constant uint& height, constant uint& width, constant uint& channels, constant uint& filters,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Input = Patches<DTYPE, DTYPE, 1, 3, 3>;
  using Tile = Product<Input, MatrixRows<DTYPE>, BM, BN, BK>;
  threadgroup float4 memory[Tile::kMemory];
  const Input patches = {x, {batch, 1, height, width, channels, channels}};
  Tile product(tile * uint2(BN, BM), memory, PLACE);
  product.multiply(patches, {w, filters, patches.depth()}, patches.depth());
  product.store(Store<DTYPE>{y, patches.rows(), filters});
}
