// 3 x 3 x 3 convolution, softmax over channels, maximum over 4 x 4 x 4 voxels (two 2 x 2 x 2
// pools): one dispatch, in which a threadgroup has all channels of a window
// (metalbench/softmax_pool.h).
// dispatch: conv3d_softmax_pool  threadgroups=(batch * ((depth - 2) / 4) * ((height - 2) / 4) * ((width - 2) / 4))  threads=(128)
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: BUFFERS = 1, 2
// defaults: cpu BUFFERS = 2
// defaults: cuda BUFFERS = 2
// dtypes: float32, float16, bfloat16
#include "metalbench/softmax_pool.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void conv3d_softmax_pool(
    device const DTYPE* x, device const DTYPE* w, device DTYPE* y, constant uint& batch,
    constant uint& depth, constant uint& height, constant uint& width, constant uint& channels,
    constant uint& filters, uint window [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Convolution = SoftmaxPool<DTYPE, BN, BK>;
  threadgroup float4 memory[Convolution::kMemory];
  const Convolution convolution = {
      x, w, y, {batch, depth, height, width, channels, channels}, filters};
  convolution.compute(window, memory, PLACE);
}
