// Transposed convolution of 3 x 7 taps, channels last, as an implicit matrix product: an output's
// patch are the inputs that reach it (metalbench/convolution.h). In steps of one there is one phase
// of outputs.
// dispatch: transposed  threadgroups=(ceil_div(filters, BN), ceil_div(batch * (height + 2) * (width + 6), BM))  threads=(128)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// dtypes: float32, float16, bfloat16
// math: fast
#include "metalbench/convolution.h"
#include "metalbench/tiles.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void transposed(
    device const DTYPE* x, device const DTYPE* conv_transpose2d_weight, device DTYPE* y,
    constant uint& batch, constant uint& height, constant uint& width, constant uint& channels,
    constant uint& filters, uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Input = TransposedPatches<DTYPE, 1, 3, 7, 1>;
  using Filters = TransposedFilters<DTYPE, 1, 3, 7, 1>;
  using Tile = Product<Input, Filters, BM, BN, BK>;
  threadgroup float4 memory[Tile::kMemory];
  const Phase<1, 3, 7, 1> phase = Phase<1, 3, 7, 1>::of(0);
  const Input patches = {x, {batch, 1, height, width, channels, channels}, phase};
  Tile product(tile * uint2(BN, BM), memory, PLACE);
  product.multiply(patches, {conv_transpose2d_weight, filters, channels, phase}, patches.depth());
  product.store(StorePhase<DTYPE, Input>{y, patches, filters});
}
