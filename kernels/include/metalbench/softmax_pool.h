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
  static constant constexpr uint kOwn = kVoxels / (kTileThreads / 32);
  using Sources = WindowTile<T, Steps, kVoxels, TileN, TileK, 4>;
  using Tile = typename Sources::Tile;
  static constant constexpr uint kMemory = Spilled<Tile, kVoxels, TileN>::kMemory;
  device const T* x;
  device const T* w;
  device T* y;
  Volume volume;
  uint filters;
  Map map;

  INLINED void compute(uint window, threadgroup float4* memory, Place place) const {
    const Sources sources = Sources::of(x, w, volume, filters, 0);
    threadgroup float* sums = (threadgroup float*)memory;
    const uint tiles = (filters + TileN - 1) / TileN;
    ExpSum voxel = no_exp_sum();
    // Both walks are one loop, so that its product stands in the code once.
    for (uint step = 0; step < 2 * tiles; ++step) {
      const bool is_observing = step < tiles;
      const uint first = (is_observing ? step : step - tiles) * TileN;
      const uint count = min(TileN, filters - first);
      if (is_observing || tiles > 1) {
        make(sources, window, first, memory, place);
      }
      if (is_observing) {
        voxel = observe(voxel, sums, count, place);
      } else {
        normalise(voxel, sums, count, place);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (place.thread_index < count) {
          float top = 0.0f;
          for (uint r = 0; r < kVoxels; ++r) {
            top = max(top, sums[r * TileN + place.thread_index]);
          }
          y[ulong(window) * filters + first + place.thread_index] = T(top);
        }
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

  // Takes `count` more channels into the peak and the sum of each voxel. Each SIMD-group has every
  // fourth voxel, and its lane i the peak and the sum of the i-th of these.
  INLINED static ExpSum observe(ExpSum voxel, threadgroup const float* sums, uint count,
                                Place place) {
    for (uint i = 0; i < kOwn; ++i) {
      threadgroup const float* row = sums + voxel_of(i, place) * TileN;
      const float peak_so_far = simd_broadcast(voxel.peak, ushort(i));
      const float sum_so_far = simd_broadcast(voxel.sum, ushort(i));
      float peak = peak_so_far;
      for (uint c = place.lane; c < count; c += 32) {
        peak = max(peak, row[c]);
      }
      peak = simd_max(peak);
      float sum = 0.0f;
      for (uint c = place.lane; c < count; c += 32) {
        sum += exp(row[c] - peak);
      }
      sum = simd_sum(sum) + sum_so_far * exp(peak_so_far - peak);
      voxel.peak = place.lane == i ? peak : voxel.peak;
      voxel.sum = place.lane == i ? sum : voxel.sum;
    }
    return voxel;
  }

  // The softmax of `count` channels of each voxel, in their place.
  INLINED static void normalise(ExpSum voxel, threadgroup float* sums, uint count, Place place) {
    for (uint i = 0; i < kOwn; ++i) {
      threadgroup float* row = sums + voxel_of(i, place) * TileN;
      const float peak = simd_broadcast(voxel.peak, ushort(i));
      const float sum = simd_broadcast(voxel.sum, ushort(i));
      for (uint c = place.lane; c < count; c += 32) {
        row[c] = exp(row[c] - peak) / sum;
      }
    }
  }

  INLINED static uint voxel_of(uint i, Place place) {
    return i * (kTileThreads / 32) + place.simdgroup;
  }
};

}  // namespace metalbench
