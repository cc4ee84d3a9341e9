// Convolution of 3 x 3 x 1 taps, channels last: an implicit matrix product Y = A W^T, whose rows of
// A, patches of the input, are found where they lie (metalbench/convolution.h) and never stored.
// dispatch: convolution  threadgroups=(ceil_div(filters, BN), ceil_div(batch * (depth - 2) * (height - 2) * width, BM))  threads=(128)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// dtypes: float32, float16, bfloat16
// math: fast
#include "metalbench/convolution.h"
#include "metalbench/tiles.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void convolution(
    device const DTYPE* x, device const DTYPE* conv3d_weight, device DTYPE* y, constant uint& batch,
    constant uint& depth, constant uint& height, constant uint& width, constant uint& channels,
    constant uint& filters, uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Input = Patches<DTYPE, DTYPE, 3, 3, 1>;
  using Tile = Product<Input, MatrixRows<DTYPE>, BM, BN, BK>;
  threadgroup float4 memory[Tile::kMemory];
  const Input patches = {x, {batch, depth, height, width, channels, channels}};
  Tile product(tile * uint2(BN, BM), memory, PLACE);
  product.multiply(patches, {conv3d_weight, filters, patches.depth()}, patches.depth());
  product.store(Store<DTYPE>{y, patches.rows(), filters});
}
