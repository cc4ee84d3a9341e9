// 3 x 3 x 3 convolution, softmax over channels, maximum over 4 x 4 x 4 voxels (two 2 x 2 x 2
// pools): one dispatch, in which a threadgroup has all channels of a window
// (metalbench/softmax_pool.h).
// dispatch: convolve  threadgroups=(batch * ((depth - 2) / 4) * ((height - 2) / 4) * ((width - 2) / 4))  threads=(128)
// tune: BN = 16, 32
// tune: BK = 16, 8
#include "metalbench/softmax_pool.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void convolve(
    device const float* x, device const float* conv_weight, device const float* conv_bias,
    device float* y, constant uint& batch, constant uint& depth, constant uint& height,
    constant uint& width, constant uint& channels, constant uint& filters,
    uint window [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Convolution = SoftmaxPool<float, BN, BK, Biased<float>>;
  threadgroup float4 memory[Convolution::kMemory];
  const Convolution convolution = {x,       conv_weight,
                                   y,       {batch, depth, height, width, channels, channels},
                                   filters, {conv_bias, filters}};
  convolution.compute(window, memory, PLACE);
}
