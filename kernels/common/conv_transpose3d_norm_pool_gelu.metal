// Transposed 3 x 3 x 3 convolution, plus a term for each channel, layer norm over channels, mean of
// 2 x 2 x 2 voxels, gelu.
// The eight voxels of a pooling window are eight neighbouring rows of a tile (Pool of
// metalbench/window_products.h) and its columns are the channels: a threadgroup has all that BM / 8
// windows need, and only their results are ever in memory. Where channels do not fit into one tile,
// a first walk over the tiles finds mean and variance of each voxel, joined from tile to tile
// (Chan, Golub, LeVeque 1979), and a second makes the tiles again.
// dispatch: conv_transpose3d_norm_pool_gelu  threadgroups=(ceil_div(8 * batch * ((depth + 2) / 2) * ((height + 2) / 2) * ((width + 2) / 2), BM))  threads=(128)
// tune: BM = 32, 64
// tune: BN = 32, 64
// tune: BK = 16, 8
// dtypes: float32, float16, bfloat16
#include "metalbench/activations.h"
#include "metalbench/spilled_tile.h"
#include "metalbench/window_products.h"
using namespace metalbench;

// Of the channels of a voxel: their mean, and the sum of the squares of what they differ from it.
struct Spread {
  float mean;
  float squares;
};

// Takes channels first .. first + count - 1 into the moments of each voxel: a voxel for each
// SIMD-group.
static void observe(threadgroup Spread* voxels, threadgroup const float* sums,
                    device const DTYPE* term, uint first, uint count, Place place) {
  for (uint r = place.simdgroup; r < BM; r += kTileThreads / 32) {
    float sum = 0.0f;
    for (uint c = place.lane; c < count; c += 32) {
      sum += sums[r * BN + c] + float(term[first + c]);
    }
    const float mean = simd_sum(sum) / float(count);
    float squares = 0.0f;
    for (uint c = place.lane; c < count; c += 32) {
      const float d = sums[r * BN + c] + float(term[first + c]) - mean;
      squares += d * d;
    }
    squares = simd_sum(squares);
    Spread joined = {mean, squares};
    if (first > 0) {
      const float weight = float(count) / float(first + count);
      const float apart = mean - voxels[r].mean;
      joined.mean = voxels[r].mean + apart * weight;
      joined.squares = voxels[r].squares + squares + apart * apart * weight * float(first);
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    if (place.lane == 0) {
      voxels[r].mean = joined.mean;
      voxels[r].squares = joined.squares;
    }
  }
}

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void conv_transpose3d_norm_pool_gelu(
    device const DTYPE* x, device const DTYPE* w, device const DTYPE* term, device DTYPE* y,
    constant uint& batch, constant uint& depth, constant uint& height, constant uint& width,
    constant uint& channels, constant uint& filters, constant float& eps,
    uint group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Steps = Backward<Along<3>, Along<3>, Along<3>>;
  using Sources = WindowTile<DTYPE, Steps, BM, BN, BK, 2>;
  using Tile = Sources::Tile;
  threadgroup float4 memory[Spilled<Tile, BM, BN>::kMemory];
  threadgroup Spread voxels[BM];
  threadgroup const float* sums = (threadgroup const float*)memory;
  const Volume volume = {batch, depth, height, width, channels, channels};
  const Sources sources = Sources::of(x, w, volume, filters, 0);

  for (uint first = 0; first < filters; first += BN) {
    Tile product(uint2(first, group * BM), memory, PLACE);
    sources.multiply(product);
    spill<BN>(product);
    observe(voxels, sums, term, first, min(uint(BN), filters - first), PLACE);
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  for (uint first = 0; first < filters; first += BN) {
    if (filters > BN) {
      Tile product(uint2(first, group * BM), memory, PLACE);
      sources.multiply(product);
      spill<BN>(product);
    }
    for (uint index = thread_index; index < BM / 8 * BN; index += kTileThreads) {
      const uint c = index % BN;
      const uint window = group * (BM / 8) + index / BN;
      if (first + c < filters && 8 * window < sources.patches.rows()) {
        float mean = 0.0f;
        for (uint r = index / BN * 8; r < index / BN * 8 + 8; ++r) {
          const float v = sums[r * BN + c] + float(term[first + c]) - voxels[r].mean;
          mean += v * precise::rsqrt(voxels[r].squares / float(filters) + eps) / 8.0f;
        }
        y[ulong(window) * filters + first + c] = DTYPE(Gelu()(mean));
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
}
