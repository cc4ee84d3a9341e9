// Gradient of a 3 x 3 convolution with respect to its input, channels last: an implicit product
// whose rows are pixels of the input, and whose depth is taps times filters. Each pixel gathers from
// the outputs that it is part of (a Backward of windows.h), so that nothing is scattered. Filters lie
// as the forward pass has them: a quad is four channels of one tap of one filter.
// dispatch: conv2d_input_gradient  threadgroups=(ceil_div(channels, BN), ceil_div(batch * (height + 2) * (width + 2), BM))  threads=(128)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: BUFFERS = 1, 2
// defaults: cpu BUFFERS = 2
// defaults: cuda BUFFERS = 2
// dtypes: float32, float16, bfloat16
// math: fast
#include "metalbench/convolution_gradients.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void conv2d_input_gradient(
    device const DTYPE* dy, device const DTYPE* w, device DTYPE* dx, constant uint& batch,
    constant uint& height, constant uint& width, constant uint& channels, constant uint& filters,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Steps = Backward<Once, Along<3>, Along<3>>;
  using Results = Windows<DTYPE, Steps>;
  using Filters = ChannelsOfFilters<DTYPE, Steps>;
  using Tile = Product<Results, Filters, BM, BN, BK>;
  threadgroup float4 memory[Tile::kMemory];
  const Results results = {dy, {batch, 1, height, width, filters, filters}};
  Tile product(tile * uint2(BN, BM), memory, PLACE);
  product.multiply(results, {w, channels, 3 * 3, results.taps}, results.depth());
  product.store(Store<DTYPE>{dx, results.rows(), channels});
}
