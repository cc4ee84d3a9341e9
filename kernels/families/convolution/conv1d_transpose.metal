// Transposed convolution along a sequence: 16 taps, eight outputs for each position. Outputs of the
// same remainder by eight meet the same two taps: the depth of the grid is these eight phases, each
// a separate product without a zero in it (metalbench/window_products.h).
// dispatch: conv1d_transpose  threadgroups=(ceil_div(filters, BN), ceil_div(batch * (length + 1), BM), 8)  threads=(128)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: BUFFERS = 1, 2
// defaults: cpu BM = 32, BUFFERS = 2
// defaults: cuda BM = 32, BUFFERS = 2
// dtypes: float32, float16, bfloat16
// math: fast
#include "metalbench/window_products.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void conv1d_transpose(
    device const DTYPE* x, device const DTYPE* w, device DTYPE* y, constant uint& batch,
    constant uint& length, constant uint& channels, constant uint& filters,
    uint3 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Steps = Backward<Once, Once, Along<16, 8, 4>>;
  using Convolution = WindowProduct<DTYPE, Steps, 16, BM, BN, BK>;
  threadgroup float4 memory[Convolution::kMemory];
  const Volume volume = {batch, 1, 1, length, channels, channels};
  const Convolution product = {x, w, y, volume, filters, 1};
  product.compute(tile, memory, PLACE);
}
