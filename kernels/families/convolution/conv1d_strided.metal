// Convolution along a sequence at every second position, with a zero at either end: an implicit
// product whose rows are every second position of the sequence and the two around it
// (metalbench/window_products.h), as an encoder of speech halves its frames.
// dispatch: conv1d_strided  threadgroups=(ceil_div(filters, BN), ceil_div(batch * ((length - 1) / 2 + 1), BM), 1)  threads=(128)
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

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void conv1d_strided(
    device const DTYPE* x, device const DTYPE* w, device DTYPE* y, constant uint& batch,
    constant uint& length, constant uint& channels, constant uint& filters,
    uint3 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Steps = Forward<Once, Once, Along<3, 2, 1>>;
  using Convolution = WindowProduct<DTYPE, Steps, 3, BM, BN, BK>;
  threadgroup float4 memory[Convolution::kMemory];
  const Volume volume = {batch, 1, 1, length, channels, channels};
  const Convolution product = {x, w, y, volume, filters, 1};
  product.compute(tile, memory, PLACE);
}
