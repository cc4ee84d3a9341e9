// Softmax over the channels of a convolution of 3 x 3 x 3 taps, and its maxima over 4 x 4 x 4
// voxels, in one dispatch: the 64 voxels of a window are the 64 rows of a tile (Windows), and its
// columns are the channels, so that all that an output needs is in one threadgroup, and voxels that
// no window covers are not computed. Only the maxima, a 64th, are ever in memory. Where channels do
// not fit into one tile a first walk over the tiles finds maximum and sum of each voxel, and a
// second makes them again: arithmetic is cheaper than 64 times the traffic. Needs, with `windows`
// of an image,
//   threadgroups=(batch * windows)  threads=(128)
#pragma once
#include "metalbench/softmax.h"
#include "metalbench/spilled_tile.h"
#include "metalbench/window_products.h"

namespace metalbench {

template <typename T, uint TileN, uint TileK, typename Map = AsItIs>
struct SoftmaxPool {
  using Steps = Forward<Along<3>, Along<3>, Along<3>>;
  static constant constexpr uint kVoxels = 64;
  using Sources = WindowTile<T, Steps, kVoxels, TileN, TileK, 4>;
  using Tile = typename Sources::Tile;
  static constant constexpr uint kMemory = Spilled<Tile, kVoxels, TileN>::kMemory;
  device const T* x;
  device const T* w;
  device T* y;
  Volume volume;
  uint filters;
  Map map;

  INLINED void compute(uint window, threadgroup float4* memory,
                       threadgroup ExpSum (&voxels)[kVoxels], Place place) const {
    const Sources sources = Sources::of(x, w, volume, filters, 0);
    threadgroup float* sums = (threadgroup float*)memory;
    const uint tiles = (filters + TileN - 1) / TileN;
    // Both walks are one loop, so that its product stands in the code once.
    for (uint step = 0; step < 2 * tiles; ++step) {
      const bool is_observing = step < tiles;
      const uint first = (is_observing ? step : step - tiles) * TileN;
      if (is_observing || tiles > 1) {
        make(sources, window, first, memory, place);
      }
      if (is_observing) {
        observe(voxels, sums, min(TileN, filters - first), first == 0, place);
      } else if (place.thread_index < TileN && first + place.thread_index < filters) {
        float top = 0.0f;
        for (uint r = 0; r < kVoxels; ++r) {
          const float v = sums[r * TileN + place.thread_index];
          top = max(top, exp(v - voxels[r].peak) / voxels[r].sum);
        }
        y[ulong(window) * filters + first + place.thread_index] = T(top);
      }
      threadgroup_barrier(mem_flags::mem_threadgroup);
    }
  }

  // map(sums) of the window's voxels and the channels from `first` on.
  INLINED void make(Sources sources, uint window, uint first, threadgroup float4* memory,
                    Place place) const {
    Tile product(uint2(first, window * kVoxels), memory, place);
    sources.multiply(product);
    spill<TileN>(product);
    for (uint i = place.thread_index; i < kVoxels * TileN / 4; i += kTileThreads) {
      const uint row = window * kVoxels + i / (TileN / 4);
      memory[i] = map(memory[i], row, first + i % (TileN / 4) * 4);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }

  // Takes `count` more channels into the peak and the sum of each voxel: a voxel for each
  // SIMD-group.
  INLINED static void observe(threadgroup ExpSum* voxels, threadgroup const float* sums, uint count,
                              bool is_first, Place place) {
    for (uint r = place.simdgroup; r < kVoxels; r += kTileThreads / 32) {
      ExpSum so_far = no_exp_sum();
      // Not `?:`, whose operands would be in different address spaces.
      if (!is_first) {
        so_far = voxels[r];
      }
      float peak = so_far.peak;
      for (uint c = place.lane; c < count; c += 32) {
        peak = max(peak, sums[r * TileN + c]);
      }
      peak = simd_max(peak);
      float sum = 0.0f;
      for (uint c = place.lane; c < count; c += 32) {
        sum += exp(sums[r * TileN + c] - peak);
      }
      sum = simd_sum(sum) + so_far.sum * exp(so_far.peak - peak);
      if (place.lane == 0) {
        voxels[r].peak = peak;
        voxels[r].sum = sum;
      }
    }
  }
};

}  // namespace metalbench
