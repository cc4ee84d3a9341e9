// Convolution along a sequence, three taps, no padding, channels last: an implicit matrix product Y
// = A W^T.
// A row of A is three neighbouring positions of x, which are 3 * channels consecutive numbers: A is
// x itself, with rows that overlap. It is never stored; metalbench/convolution.h finds each quad in
// the input. Small tiles, because a sequence makes few of them.
// dispatch: conv1d  threadgroups=(ceil_div(filters, BN), ceil_div(batch * (length - 2), BM))  threads=(128)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8, 32
// tune: BUFFERS = 1, 2
// defaults: cuda BUFFERS = 2
// defaults: cpu BM = 32, BUFFERS = 2
// defaults: cuda float16 bfloat16 BK = 32
// dtypes: float32, float16, bfloat16
// math: fast
#include "metalbench/convolution.h"
#include "metalbench/tiles.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void conv1d(
    device const DTYPE* x, device const DTYPE* w, device DTYPE* y, constant uint& batch,
    constant uint& length, constant uint& channels, constant uint& filters,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Input = Patches<DTYPE, DTYPE, 1, 1, 3>;
  using Tile = Product<Input, MatrixRows<DTYPE>, BM, BN, BK>;
  threadgroup float4 memory[Tile::kMemory];
  const Input patches = {x, {batch, 1, 1, length, channels, channels}};
  Tile product(tile * uint2(BN, BM), memory, PLACE);
  product.multiply(patches, {w, filters, patches.depth()}, patches.depth());
  product.store(Store<DTYPE>{y, patches.rows(), filters});
}
