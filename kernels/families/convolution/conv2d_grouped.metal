// Convolution in four groups of channels: each is a separate product, whose rows are pixels of
// the wider image and whose columns go to a slice of the output (metalbench/window_products.h).
// Groups are the depth of the grid; tiles are small, as a group has few filters.
// dispatch: conv2d_grouped  threadgroups=(ceil_div(filters, BN), ceil_div(batch * height * width, BM), 4)  threads=(128)
// tune: BM = 64, 32
// tune: BN = 32, 64
// tune: BK = 16, 8
// dtypes: float32, float16, bfloat16
// math: fast
#include "metalbench/window_products.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void conv2d_grouped(
    device const DTYPE* x, device const DTYPE* w, device DTYPE* y, constant uint& batch,
    constant uint& height, constant uint& width, constant uint& channels, constant uint& filters,
    uint3 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Steps = Forward<Once, Along<3, 1, 1>, Along<3, 1, 1>>;
  using Convolution = WindowProduct<DTYPE, Steps, 3 * 3, BM, BN, BK>;
  threadgroup float4 memory[Convolution::kMemory];
  const Volume volume = {batch, 1, height, width, 4 * channels, 4 * channels};
  const Convolution product = {x, w, y, volume, 4 * filters, 4};
  product.compute(tile, memory, PLACE);
}
