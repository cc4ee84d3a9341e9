// sigmoid(softmax over channels of a transposed convolution), 3 x 3 x 3 taps, steps of 2, channels
// last. Softmax works on the product in place, some lanes a pixel (metalbench/channel_rows.h).
// dispatch: convolve  threadgroups=(ceil_div(filters, BN), ceil_div(batch * depth * height * width, BM), 8)  threads=(128)
// dispatch: normalise  threads_in_grid=(LANES * batch * 2 * depth * 2 * height * 2 * width)  threads=(128)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: LANES = 16, 8, 32
// tune: BUFFERS = 1, 2
// defaults: cpu BUFFERS = 2
// defaults: cuda BUFFERS = 2
#include "metalbench/activations.h"
#include "metalbench/channel_rows.h"
#include "metalbench/window_products.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void convolve(
    device const float* x, device const float* conv_transpose_weight,
    device const float* conv_transpose_bias, device float* y, constant uint& batch,
    constant uint& depth, constant uint& height, constant uint& width, constant uint& channels,
    constant uint& filters, uint3 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Steps = Backward<Along<3, 2, 1, 1, 1>, Along<3, 2, 1, 1, 1>, Along<3, 2, 1, 1, 1>>;
  using Convolution = WindowProduct<float, Steps, 3 * 3 * 3, BM, BN, BK, Biased<float>>;
  threadgroup float4 memory[Convolution::kMemory];
  const Convolution product = {x,
                               conv_transpose_weight,
                               y,
                               {batch, depth, height, width, channels, channels},
                               filters,
                               1,
                               {conv_transpose_bias, filters}};
  product.compute(tile, memory, PLACE);
}

[[kernel]] void normalise(device float* y, constant uint& filters,
                          uint group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  const uint2 at = lane_of_row<LANES>(group, PLACE);
  device float* pixel = y + ulong(at.y) * filters;
  const SoftmaxOf<RowInPlace<float>> softmax =
      softmax_of<LANES>(RowInPlace<float>{pixel, filters, 0.0f}, filters, at.x);
  for (uint column = 4 * at.x; column < filters; column += 4 * LANES) {
    store_quad(pixel, column, filters, Sigmoid()(softmax(column)));
  }
}
