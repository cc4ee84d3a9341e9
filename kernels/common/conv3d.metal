// 3 x 3 x 3 convolution, stride 1, no padding, channels last: an implicit matrix product Y = A W^T.
// Rows of A are output voxels, columns of A and W are the 27 taps times channels. A, 27 times the
// input, is never stored: metalbench/convolution.h finds each quad where it lies,
// metalbench/tiles.h multiplies.
// dispatch: conv3d  threadgroups=(ceil_div(filters, BN), ceil_div(batch * (depth - 2) * (height - 2) * (width - 2), BM))  threads=(128)
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

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void conv3d(
    device const DTYPE* x, device const DTYPE* w, device DTYPE* y, constant uint& batch,
    constant uint& depth, constant uint& height, constant uint& width, constant uint& channels,
    constant uint& filters, uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Input = Patches<DTYPE, DTYPE, 3, 3, 3>;
  using Tile = Product<Input, MatrixRows<DTYPE>, BM, BN, BK>;
  threadgroup float4 memory[Tile::kMemory];
  const Input patches = {x, {batch, depth, height, width, channels, channels}};
  Tile product(tile * uint2(BN, BM), memory, PLACE);
  product.multiply(patches, {w, filters, patches.depth()}, patches.depth());
  product.store(Store<DTYPE>{y, patches.rows(), filters});
}
