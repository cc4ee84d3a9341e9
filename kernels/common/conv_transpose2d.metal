// Transposed 3 x 3 convolution of stride 2, channels last: an implicit matrix product for each
// phase of the output.
// Read as a convolution it would have zeros between the pixels of the input, three of four
// multiplications for nothing. But outputs whose coordinates have the same remainders by 2 meet the
// same taps (4, 2, 2 or 1 of the nine) and no zeros: the depth of the grid is these four phases,
// each a separate product (metalbench/window_products.h).
// dispatch: conv_transpose2d  threadgroups=(ceil_div(filters, BN), ceil_div(batch * (height + 1) * (width + 1), BM), 4)  threads=(128)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: BUFFERS = 1, 2
// defaults: cpu BUFFERS = 2
// defaults: cuda BUFFERS = 2
// dtypes: float32, float16, bfloat16
// math: fast
#include "metalbench/window_products.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void conv_transpose2d(
    device const DTYPE* x, device const DTYPE* w, device DTYPE* y, constant uint& batch,
    constant uint& height, constant uint& width, constant uint& channels, constant uint& filters,
    uint3 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Steps = Backward<Once, Along<3, 2>, Along<3, 2>>;
  using Convolution = WindowProduct<DTYPE, Steps, 3 * 3, BM, BN, BK>;
  threadgroup float4 memory[Convolution::kMemory];
  const Convolution product = {x, w, y, {batch, 1, height, width, channels, channels}, filters, 1};
  product.compute(tile, memory, PLACE);
}
