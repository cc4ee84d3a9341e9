// Convolutions that a norm over pixels follows: each tile leaves the moments of its channels next
// to its sums, so that these are read only once more, to be normalised, and not at all where no
// more than their moments are wanted. What is normalised is map(sums). `images` is the batch, or,
// for batch norm, one image that is all of the batch. Steps after the product:
//   join_moments     mean and 1 / sqrt(variance + eps) of each image and group
//   apply_moments    of pixel_norm.h, which may work in place
// Needs, with `rows` as in window_products.h but of one image, and TILES for ceil_div(rows, BM),
//   dispatch: convolve  threadgroups=(ceil_div(filters, BN), TILES, images * phases)  threads=(128)
//   dispatch: join  threadgroups=(images * groups)  threads=(TG)
//   scratch: shares float32 (images, phases * TILES, filters, 4)
//   scratch: moments float32 (images, groups, 2)
#pragma once
#include "metalbench/pixel_norm.h"
#include "metalbench/spilled_tile.h"
#include "metalbench/window_products.h"

namespace metalbench {

// Moments of a share of an image's channel as they are kept: count, mean, squares, nothing.
inline float4 kept_spread(Spread<float> all) {
  return float4(all.count, all.mean, all.squares, 0.0f);
}

// The moments of `count` rows of a spilled tile, in `kAcross` threads for four columns each; the
// others of the column have their part. Both loops take one row after the other, so that the code
// has what is normalised once.
template <uint TileM, uint TileN>
struct TileSpread {
  static constant constexpr uint kAcross = TileN / 4;
  static constant constexpr uint kDown = kTileThreads / kAcross;

  template <typename Sums>
  INLINED static Spread<float4> part(Sums sums, uint count, uint thread_index) {
    const uint first = thread_index / kAcross;
    const float own = first < count ? float((count - first + kDown - 1) / kDown) : 0.0f;
    float4 sum = 0.0f;
    ROLLED
    for (uint row = first; row < count; row += kDown) {
      sum += sums.map_row(row);
    }
    const float4 mean = sum / max(own, 1.0f);
    float4 squares = 0.0f;
    for (uint row = first; row < count; row += kDown) {
      const float4 d = sums.quad(row) - mean;
      squares = fma(d, d, squares);
    }
    return {own, mean, squares};
  }

  // `memory` holds two quads a thread.
  INLINED static Spread<float4> joined(Spread<float4> all, uint count, threadgroup float4* memory,
                                       uint thread_index) {
    memory[2 * thread_index] = all.mean;
    memory[2 * thread_index + 1] = all.squares;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = 1; i < kDown && thread_index < kAcross; ++i) {
      const uint from = 2 * (thread_index + i * kAcross);
      const float more = i < count ? float((count - i + kDown - 1) / kDown) : 0.0f;
      all = all.with({more, memory[from], memory[from + 1]});
    }
    return all;
  }
};

// map(sums) of four columns of a spilled tile, kept in its place and stored in `y`, unless that is
// null.
template <uint TileN, typename Patches, typename Map>
struct MappedSums {
  threadgroup float* tile;
  Patches patches;
  device float* y;
  uint2 corner;
  uint across;
  uint filters;
  Map map;

  threadgroup float4& quad(uint row) const {
    return ((threadgroup float4*)tile)[row * (TileN / 4) + across];
  }
  float4 map_row(uint row) const {
    const uint column = corner.x + 4 * across;
    const uint pixel = patches.output_row(corner.y + row);
    const float4 v = map(quad(row), pixel, column);
    quad(row) = v;
    if (y) {
      store_quad(y + ulong(pixel) * filters, column, filters, v);
    }
    return v;
  }
};

template <typename Steps, typename Map, uint TileM, uint TileN, uint TileK>
struct WindowMoments {
  using Sources = WindowTile<float, Steps, TileM, TileN, TileK>;
  using Tile = typename Sources::Tile;
  using Spreads = TileSpread<TileM, TileN>;
  static constant constexpr uint kTileMemory = Spilled<Tile, TileM, TileN>::kMemory;
  static constant constexpr uint kMemory =
      kTileMemory > 2 * kTileThreads ? kTileMemory : 2 * kTileThreads;
  device const float* x;
  device const float* w;
  device float* y;  // null where only moments are wanted
  device float* shares;
  Volume volume;  // of one image
  uint filters;
  Map map;

  // `tiles` is the grid's height.
  INLINED void compute(uint3 tile, uint tiles, threadgroup float4* memory, Place place) const {
    const uint image = tile.z / Steps::kPhases;
    const uint phase = tile.z % Steps::kPhases;
    const ulong pixels = ulong(volume.batch) * volume.depth * volume.height * volume.width;
    const Sources sources =
        Sources::of(x + image * pixels * volume.pitch, w, volume, filters, phase);
    const uint2 corner = tile.xy * uint2(TileN, TileM);
    const uint rows = sources.patches.rows();
    const uint count = min(TileM, max(rows, corner.y) - corner.y);
    Tile product(corner, memory, place);
    sources.multiply(product);
    spill<TileN>(product);
    const uint3 outputs = sources.patches.outputs();
    const ulong size = ulong(volume.batch) * outputs.x * outputs.y * outputs.z * filters;
    const uint across = place.thread_index % Spreads::kAcross;
    const uint column = corner.x + 4 * across;
    const MappedSums<TileN, typename Sources::Input, Map> sums = {(threadgroup float*)memory,
                                                                  sources.patches,
                                                                  y ? y + image * size : nullptr,
                                                                  corner,
                                                                  across,
                                                                  filters,
                                                                  map};
    const Spread<float4> part =
        Spreads::part(sums, column < filters ? count : 0, place.thread_index);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const Spread<float4> all = Spreads::joined(part, count, memory, place.thread_index);
    if (place.thread_index < Spreads::kAcross) {
      const ulong share = (ulong(image) * Steps::kPhases + phase) * tiles + tile.y;
      device float4* to = (device float4*)shares + share * filters;
      for (uint i = 0; i < 4 && column + i < filters; ++i) {
        to[column + i] = kept_spread({float(count), all.mean[i], all.squares[i]});
      }
    }
  }
};

// Mean and 1 / sqrt(variance + eps) of group `index` of all images' groups into `moments`, float2
// (images, groups), from `count` shares an image, by all threads of a threadgroup.
template <uint SimdGroups>
inline void join_moments(device const float* shares, device float* moments, uint count,
                         uint channels, uint groups, float eps, uint index,
                         threadgroup float4* memory, Place place) {
  const uint own = channels / groups;
  device const float4* from = (device const float4*)shares +
                              ulong(index / groups) * count * channels + index % groups * own;
  Spread<float> all = {0.0f, 0.0f, 0.0f};
  const RowColumn step = RowColumn::of(32 * SimdGroups, own);
  for (RowColumn at = RowColumn::of(place.thread_index, own); at.row < count;
       at = at.after(step, own)) {
    // check: allow strided-access moments of a channel, a small part of what the product reads
    const float4 share = from[at.row * channels + at.column];
    all = all.with({share.x, share.y, share.z});
  }
  for (ushort step = 16; step > 0; step /= 2) {
    all = all.with({simd_shuffle_xor(all.count, step), simd_shuffle_xor(all.mean, step),
                    simd_shuffle_xor(all.squares, step)});
  }
  if (place.lane == 0) {
    memory[place.simdgroup] = kept_spread(all);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (place.thread_index == 0) {
    for (uint i = 1; i < SimdGroups; ++i) {
      all = all.with({memory[i].x, memory[i].y, memory[i].z});
    }
    ((device float2*)moments)[index] =
        float2(all.mean, precise::rsqrt(all.squares / all.count + eps));
  }
}

}  // namespace metalbench
