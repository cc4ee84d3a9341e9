// Convolution of 3 x 3 taps two apart at every second pixel: an implicit product whose rows are
// output pixels (metalbench/window_products.h). Stride, padding and dilation are types, so that
// where a tap lies is found by additions; taps past the border are zeros that no thread reads.
// dispatch: conv2d_strided_dilated  threadgroups=(ceil_div(filters, BN), ceil_div(batch * ((height - 1) / 2 + 1) * ((width - 1) / 2 + 1), BM), 1)  threads=(128)
// tune: BM = 64, 32
// tune: BN = 64, 32, 128
// tune: BK = 16, 8
// tune: BUFFERS = 1, 2
// defaults: cpu BUFFERS = 2
// defaults: cuda BUFFERS = 2
// defaults: cuda float32 BN = 128
// dtypes: float32, float16, bfloat16
// math: fast
#include "metalbench/window_products.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void conv2d_strided_dilated(
    device const DTYPE* x, device const DTYPE* w, device DTYPE* y, constant uint& batch,
    constant uint& height, constant uint& width, constant uint& channels, constant uint& filters,
    uint3 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Steps = Forward<Once, Along<3, 2, 2, 2>, Along<3, 2, 2, 2>>;
  using Convolution = WindowProduct<DTYPE, Steps, 3 * 3, BM, BN, BK>;
  threadgroup float4 memory[Convolution::kMemory];
  const Volume volume = {batch, 1, height, width, channels, channels};
  const Convolution product = {x, w, y, volume, filters, 1};
  product.compute(tile, memory, PLACE);
}
