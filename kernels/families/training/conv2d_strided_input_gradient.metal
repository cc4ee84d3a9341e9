// Gradient of a convolution with any taps, stride and padding with respect to its input, channels last:
// products as of conv2d_input_gradient, one for each *phase*, the remainder of a pixel's place by the
// stride. Pixels of one phase gather from the same taps, so that no zeros between outputs are
// multiplied (a SquareBackward of windows.h). Taps, stride and padding are arguments.
// dispatch: conv2d_strided_input_gradient  threadgroups=(ceil_div(channels, BN), ceil_div(batch * ceil_div((height - 1) * stride + taps - 2 * padding + more, stride) * ceil_div((width - 1) * stride + taps - 2 * padding + more, stride), BM), stride * stride)  threads=(128)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: BUFFERS = 1, 2
// defaults: cpu BUFFERS = 2
// defaults: cuda BUFFERS = 2
// dtypes: float32, float16, bfloat16
// math: fast
#include "metalbench/convolution_gradients.h"
#include "metalbench/window_products.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void conv2d_strided_input_gradient(
    device const DTYPE* dy, device const DTYPE* w, device DTYPE* dx, constant uint& batch,
    constant uint& height, constant uint& width, constant uint& channels, constant uint& filters,
    constant uint& taps, constant uint& stride, constant uint& padding, constant uint& more,
    uint3 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Results = Windows<DTYPE, SquareBackward>;
  using Filters = ChannelsOfFilters<DTYPE, SquareBackward>;
  using Tile = Product<Results, Filters, BM, BN, BK>;
  threadgroup float4 memory[Tile::kMemory];
  const uint2 extents = (uint2(width, height) - 1) * stride + taps - 2 * padding + more;
  const SquareBackward steps = SquareBackward::of(taps, stride, padding, extents, tile.z);
  const Results results = {dy, {batch, 1, height, width, filters, filters}, steps};
  if (tile.y * BM >= results.rows()) {
    return;
  }
  Tile product(tile.xy * uint2(BN, BM), memory, PLACE);
  product.multiply(results, {w, channels, taps * taps, results.taps}, results.depth());
  product.store(StoreWindows<DTYPE, Results, AsItIs>{dx, results, channels, channels, {}});
}
