// Convolution along a sequence of taps three apart, as long as the sequence: an implicit product
// (metalbench/window_products.h) of rows that begin at each position and leave two of three out, as
// in vocoders, which hear far back by few taps.
// dispatch: conv1d_dilated  threadgroups=(ceil_div(filters, BN), ceil_div(batch * length, BM), 1)  threads=(128)
// tune: BM = 64, 32
// tune: BN = 64, 32, 128
// tune: BK = 16, 8
// tune: BUFFERS = 1, 2
// defaults: cuda BUFFERS = 2
// defaults: cpu BM = 32, BUFFERS = 2
// defaults: cuda float32 BN = 128
// dtypes: float32, float16, bfloat16
// math: fast
#include "metalbench/window_products.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void conv1d_dilated(
    device const DTYPE* x, device const DTYPE* w, device DTYPE* y, constant uint& batch,
    constant uint& length, constant uint& channels, constant uint& filters,
    uint3 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Steps = Forward<Once, Once, Along<3, 1, 3, 3>>;
  using Convolution = WindowProduct<DTYPE, Steps, 3, BM, BN, BK>;
  threadgroup float4 memory[Convolution::kMemory];
  const Volume volume = {batch, 1, 1, length, channels, channels};
  const Convolution product = {x, w, y, volume, filters, 1};
  product.compute(tile, memory, PLACE);
}
