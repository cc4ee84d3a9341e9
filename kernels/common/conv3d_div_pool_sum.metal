// 3 x 3 x 3 convolution, halved, maximum over channels, mean over voxels, plus 0.5, added up over
// the batch to one number.
// A threadgroup walks through all channels of BM voxels, tile by tile, and keeps only the maximum
// of each voxel; it leaves one partial sum. A second dispatch adds these up, always in the same
// order. The convolution's result, as large as the input, never exists. Halving commutes with
// maximum and mean, so it is one factor at the end.
// dispatch: largest_channels  threadgroups=(ceil_div(batch * (depth - 2) * (height - 2) * (width - 2), BM))  threads=(128)
// check: allow few-threadgroups it adds one number of each threadgroup of the dispatch before
// dispatch: add_up  threadgroups=(1)  threads=(256)
// scratch: partials float32 (ceil_div(batch * (depth - 2) * (height - 2) * (width - 2), BM))
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: BUFFERS = 1, 2
// defaults: cpu BUFFERS = 2
// defaults: cuda BUFFERS = 2
// dtypes: float32, float16, bfloat16
#include "metalbench/convolution.h"
#include "metalbench/reduce.h"
#include "metalbench/spilled_tile.h"
using namespace metalbench;

// Each SIMD-group has every fourth voxel of the tile, lane r the r-th of these.
static float with_channels(float largest, threadgroup const float* sums, uint count, Place place) {
  for (uint r = 0; r < BM / 4; ++r) {
    threadgroup const float* row = sums + (4 * r + place.simdgroup) * BN;
    float v = -INFINITY;
    for (uint c = place.lane; c < count; c += 32) {
      v = max(v, row[c]);
    }
    v = simd_max(v);
    largest = place.lane == r ? max(largest, v) : largest;
  }
  return largest;
}

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void largest_channels(
    device const DTYPE* x, device const DTYPE* w, device float* partials, constant uint& batch,
    constant uint& depth, constant uint& height, constant uint& width, constant uint& channels,
    constant uint& filters, uint group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Input = Patches<DTYPE, DTYPE, 3, 3, 3>;
  using Tile = Product<Input, MatrixRows<DTYPE>, BM, BN, BK>;
  threadgroup float4 memory[Spilled<Tile, BM, BN>::kMemory];
  const Input patches = {x, {batch, depth, height, width, channels, channels}};

  float largest = -INFINITY;
  for (uint first = 0; first < filters; first += BN) {
    Tile product(uint2(first, group * BM), memory, PLACE);
    product.multiply(patches, {w, filters, patches.depth()}, patches.depth());
    largest = with_channels(largest, spill<BN>(product), min(uint(BN), filters - first), PLACE);
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  const bool has_voxel = lane < BM / 4 && group * BM + 4 * lane + simdgroup < patches.rows();
  const float sum = group_sum<kTileThreads / 32>(has_voxel ? largest : 0.0f,
                                                 (threadgroup float*)memory, PLACE);
  if (thread_index == 0) {
    partials[group] = sum;
  }
}

[[kernel]] void add_up(device const float* partials, device DTYPE* y, constant uint& batch,
                       constant uint& depth, constant uint& height, constant uint& width,
                       PLACE_ARGUMENTS) {
  threadgroup float parts[256 / 32];
  const uint voxels = (depth - 2) * (height - 2) * (width - 2);
  float sum = 0.0f;
  for (uint i = thread_index; i < (batch * voxels + BM - 1) / BM; i += 256) {
    sum += partials[i];
  }
  sum = group_sum<256 / 32>(sum, parts, PLACE);
  if (thread_index == 0) {
    y[0] = DTYPE(sum / (2.0f * float(voxels)) + 0.5f * float(batch));
  }
}
