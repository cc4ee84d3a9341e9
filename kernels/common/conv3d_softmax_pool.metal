// 3 x 3 x 3 convolution, softmax over channels, maximum over 4 x 4 x 4 voxels (two 2 x 2 x 2
// pools): one dispatch.
// The 64 voxels of a pooling window are the 64 rows of a tile (Pool of metalbench/convolution.h),
// and its columns are the channels: all that an output needs is in one threadgroup, and voxels that
// no window covers are not computed. Only the pooled maxima, a 64th, are ever in memory. Where
// channels do not fit into one tile a first walk over the tiles finds maximum and sum of each
// voxel, and a second makes them again: arithmetic is cheaper than 64 times the traffic.
// dispatch: conv3d_softmax_pool  threadgroups=(batch * ((depth - 2) / 4) * ((height - 2) / 4) * ((width - 2) / 4))  threads=(128)
// tune: BN = 64, 32
// tune: BK = 16, 8
// dtypes: float32, float16, bfloat16
#include "metalbench/convolution.h"
#include "metalbench/softmax.h"
#include "metalbench/spilled_tile.h"
using namespace metalbench;

constant constexpr uint VOXELS = 64;

// Takes `count` more channels into the peak and the sum of each voxel: a voxel for each SIMD-group.
static void observe(threadgroup ExpSum* voxels, threadgroup const float* sums, uint count,
                    bool is_first, Place place) {
  for (uint r = place.simdgroup; r < VOXELS; r += kTileThreads / 32) {
    ExpSum so_far = is_first ? no_exp_sum() : voxels[r];
    float peak = so_far.peak;
    for (uint c = place.lane; c < count; c += 32) {
      peak = max(peak, sums[r * BN + c]);
    }
    peak = simd_max(peak);
    float sum = 0.0f;
    for (uint c = place.lane; c < count; c += 32) {
      sum += exp(sums[r * BN + c] - peak);
    }
    sum = simd_sum(sum) + so_far.sum * exp(so_far.peak - peak);
    if (place.lane == 0) {
      voxels[r].peak = peak;
      voxels[r].sum = sum;
    }
  }
}

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void conv3d_softmax_pool(
    device const DTYPE* x, device const DTYPE* w, device DTYPE* y, constant uint& batch,
    constant uint& depth, constant uint& height, constant uint& width, constant uint& channels,
    constant uint& filters, uint window [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Input = Patches<DTYPE, DTYPE, 3, 3, 3, false, 4>;
  using Tile = Product<Input, MatrixRows<DTYPE>, VOXELS, BN, BK>;
  threadgroup float4 memory[Spilled<Tile, VOXELS, BN>::kMemory];
  threadgroup ExpSum voxels[VOXELS];
  threadgroup const float* sums = (threadgroup const float*)memory;
  const Input patches = {x, {batch, depth, height, width, channels, channels}};
  const MatrixRows<DTYPE> weights = {w, filters, patches.depth()};

  for (uint first = 0; first < filters; first += BN) {
    Tile product(uint2(first, window * VOXELS), memory, PLACE);
    product.multiply(patches, weights, patches.depth());
    spill<BN>(product);
    observe(voxels, sums, min(uint(BN), filters - first), first == 0, PLACE);
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  for (uint first = 0; first < filters; first += BN) {
    if (filters > BN) {
      Tile product(uint2(first, window * VOXELS), memory, PLACE);
      product.multiply(patches, weights, patches.depth());
      spill<BN>(product);
    }
    if (thread_index < BN && first + thread_index < filters) {
      float largest = 0.0f;
      for (uint r = 0; r < VOXELS; ++r) {
        largest = max(largest, exp(sums[r * BN + thread_index] - voxels[r].peak) / voxels[r].sum);
      }
      y[ulong(window) * filters + first + thread_index] = DTYPE(largest);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
}
