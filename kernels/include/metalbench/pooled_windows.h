// Convolutions of which only pools are wanted: what the windows of a pool are joined from is in one
// threadgroup, and only what becomes of the windows is ever in memory. Each thread has quads of
// windows in its registers:
//   Forward    Pool pixels in each direction are neighbouring rows of a tile (Windows);
//   Backward   of Pool strides, or of a stride of one: the window's pixels are of as many phases,
//              whose tiles are joined one after the other.
// A window may go through `slices` neighbouring outputs of depth as well, all of an image.
// `Join` is of joins.h, `Map` (epilogues.h) is what of the sums is joined. Needs, with `windows` of
// an image,
//   threadgroups=(ceil_div(filters, BN), ceil_div(windows * pixels of one in a tile, BM), images)
#pragma once
#include "metalbench/joins.h"
#include "metalbench/spilled_tile.h"
#include "metalbench/window_products.h"

namespace metalbench {

// Writes the sum over the Down threads of four columns to `partial`, (images, tiles, filters), by
// all threads of a threadgroup, Across of them beside each other.
template <uint Across, uint Down>
INLINED inline void add_down(device float* partial, float4 sum, uint column, uint filters,
                             uint2 tile_and_image, uint tiles, threadgroup float4* memory,
                             uint thread_index) {
  memory[thread_index] = sum;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (thread_index < Across && column < filters) {
    UNROLLED
    for (uint i = 1; i < Down; ++i) {
      sum += memory[thread_index + i * Across];
    }
    const ulong row = ulong(tile_and_image.y) * tiles + tile_and_image.x;
    store_quad(partial + row * filters, column, filters, sum);
  }
}

template <typename Steps, uint Pool, typename Join, typename Map, uint TileM, uint TileN,
          uint TileK>
struct PooledWindows {
  using Sources = WindowTile<float, Steps, TileM, TileN, TileK, Pool>;
  using Tile = typename Sources::Tile;
  static constant constexpr uint kMemory = Spilled<Tile, TileM, TileN>::kMemory;
  // Rows of a tile that are one window, and how many pixels of the output are.
  static constant constexpr uint kDirections =
      1 + (Steps::kHigh > 1 ? 1 : 0) + (Steps::kDeep > 1 ? 1 : 0);
  static constant constexpr uint kPixels =
      Pool * (kDirections > 1 ? Pool : 1) * (kDirections > 2 ? Pool : 1);
  static constant constexpr uint kRows = kPixels / Steps::kPhases;
  static constant constexpr uint kAcross = TileN / 4;
  static constant constexpr uint kDown = kTileThreads / kAcross;
  static constant constexpr uint kWindows = TileM / kRows;
  static constant constexpr uint kKept = (kWindows + kDown - 1) / kDown;

  uint2 corner;  // of the tile: first filter, first row of the image
  uint filters;
  uint windows;
  Place place;
  float4 kept[kKept];

  uint column() const { return corner.x + 4 * (place.thread_index % kAcross); }
  // The i-th window of this thread, of the image and of the tile.
  uint in_tile(uint i) const { return place.thread_index / kAcross + i * kDown; }
  uint window(uint i) const { return corner.y / kRows + in_tile(i); }
  bool has(uint i) const {
    return in_tile(i) < kWindows && window(i) < windows && column() < filters;
  }

  // The windows of image `tile.z`; of `slices` of depth the volume is as deep as the first needs.
  INLINED static PooledWindows of(device const float* x, device const float* w, Volume volume,
                                  uint filters, Map map, uint3 tile, threadgroup float4* memory,
                                  Place place, uint slices = 1) {
    volume.batch = 1;
    const uint slice = volume.height * volume.width * volume.pitch;
    device const float* image = x + ulong(tile.z) * (volume.depth + slices - 1) * slice;
    PooledWindows pooled;
    pooled.corner = tile.xy * uint2(TileN, TileM);
    pooled.filters = filters;
    pooled.place = place;
    UNROLLED
    for (uint i = 0; i < kKept; ++i) {
      pooled.kept[i] = Join().first();
    }
    for (uint part = 0; part < Steps::kPhases * slices; ++part) {
      const Sources sources = Sources::of(image + part / Steps::kPhases * slice, w, volume, filters,
                                          part % Steps::kPhases);
      Tile product(pooled.corner, memory, place);
      // check: allow registers what all phases have in common is computed once, before the loop
      sources.multiply(product);
      pooled.windows = sources.patches.rows() / kRows;
      pooled.join(map, spill<TileN>(product));
      threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    UNROLLED
    for (uint i = 0; i < kKept; ++i) {
      pooled.kept[i] = Join().finish(pooled.kept[i], kPixels * slices);
    }
    return pooled;
  }

  INLINED void join(Map map, threadgroup const float* tile) {
    constexpr bool has_all = kWindows % kDown == 0;
    const uint first = in_tile(0) * kRows;
    threadgroup const float4* from =
        (threadgroup const float4*)(tile + first * TileN) + place.thread_index % kAcross;
    UNROLLED
    for (uint i = 0; i < kKept; ++i) {
      for (uint r = 0; r < kRows && (has_all || in_tile(i) < kWindows); ++r) {
        const uint row = i * kDown * kRows + r;
        // check: allow registers windows stay in registers, their pixels are never in memory
        kept[i] = Join().join(kept[i], map(from[row * kAcross], corner.y + first + row, column()));
      }
    }
  }

  // Writes map(windows) to `y`, (images, windows, filters).
  template <typename After>
  INLINED void store(device float* y, After after, uint image) const {
    UNROLLED
    for (uint i = 0; i < kKept; ++i) {
      if (has(i)) {
        const ulong row = ulong(image) * windows + window(i);
        store_quad(y + row * filters, column(), filters, after(kept[i], window(i), column()));
      }
    }
  }

  // Writes the sum of map(windows) over the tile to `partial`, (images, tiles, filters); the memory
  // is that of the product.
  template <typename After>
  INLINED void add(device float* partial, After after, uint2 tile_and_image, uint tiles,
                   threadgroup float4* memory) const {
    float4 sum = 0.0f;
    UNROLLED
    for (uint i = 0; i < kKept; ++i) {
      sum += has(i) ? after(kept[i], window(i), column()) : float4(0.0f);
    }
    add_down<kAcross, kDown>(partial, sum, column(), filters, tile_and_image, tiles, memory,
                             place.thread_index);
  }
};

// PooledWindows::add where each pixel is a window: a thread takes one pixel after the other from
// threadgroup memory, so that the code has the map once.
template <typename Steps, typename Map, uint TileM, uint TileN, uint TileK>
struct PixelSums {
  using Sources = WindowTile<float, Steps, TileM, TileN, TileK>;
  using Tile = typename Sources::Tile;
  static_assert(Steps::kPhases == 1, "a tile is of one phase");
  static constant constexpr uint kMemory = Spilled<Tile, TileM, TileN>::kMemory;
  static constant constexpr uint kAcross = TileN / 4;
  static constant constexpr uint kDown = kTileThreads / kAcross;

  INLINED static void add(device const float* x, device const float* w, device float* partial,
                          Volume volume, uint filters, Map map, uint3 tile, uint tiles,
                          threadgroup float4* memory, Place place) {
    volume.batch = 1;
    const uint image = volume.depth * volume.height * volume.width * volume.pitch;
    const Sources sources = Sources::of(x + ulong(tile.z) * image, w, volume, filters, 0);
    const uint2 corner = tile.xy * uint2(TileN, TileM);
    Tile product(corner, memory, place);
    sources.multiply(product);
    threadgroup const float4* sums = (threadgroup const float4*)spill<TileN>(product);
    const uint column = corner.x + 4 * (place.thread_index % kAcross);
    const uint rows = sources.patches.rows();
    float4 sum = 0.0f;
    ROLLED
    for (uint i = place.thread_index; i < TileM * kAcross; i += kTileThreads) {
      const uint row = corner.y + i / kAcross;
      sum += row < rows && column < filters ? map(sums[i], row, column) : float4(0.0f);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    add_down<kAcross, kDown>(partial, sum, column, filters, tile.yz, tiles, memory,
                             place.thread_index);
  }
};

}  // namespace metalbench
