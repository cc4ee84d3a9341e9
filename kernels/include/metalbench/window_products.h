// Convolutions of any stride, padding and dilation as matrix products without a matrix of patches,
// transposed ones included, in up to three dimensions, with groups: `Steps` is a Forward or a
// Backward of windows.h. Inputs are channels last, filters (filters, taps..., channels of a group).
// Rows of A are output pixels, columns of A and of the filters taps times channels; sources
// (window_sources.h) find each quad where it lies. The grid's depth is phases times groups. A
// kernel is its steps and, with `rows` the output's pixels, of stride-th part each where it is
// transposed:
//   dispatch: convolve  threadgroups=(ceil_div(filters, BN), ceil_div(rows, BM), phases * groups)
//   threads=(128)
#pragma once
#include "metalbench/epilogues.h"
#include "metalbench/tiles.h"
#include "metalbench/window_sources.h"

namespace metalbench {

// Writes map(sums) to the pixels that a phase has of an output whose pixels are `pitch` apart; the
// map's row is that of the whole output.
template <typename T, typename Patches, typename Map>
struct StoreWindows {
  device T* to;
  Patches patches;
  uint cols;
  uint pitch;
  Map map;

  void operator()(uint row, uint column, threadgroup const float4* sums) const {
    if (row < patches.rows() && column < cols) {
      const uint pixel = patches.output_row(row);
      store_quad(to + ulong(pixel) * pitch, column, cols, map(*sums, pixel, column));
    }
  }
};

// What a tile of a convolution is multiplied from; `phase` of the grid's depth.
template <typename T, typename Steps, uint TileM, uint TileN, uint TileK, uint Pool = 1>
struct WindowTile {
  using Input = Windows<T, Steps, Pool>;
  using Filters = WindowFilters<T, Steps>;
  using Tile = Product<Input, Filters, TileM, TileN, TileK>;
  static constant constexpr uint kMemory = Tile::kMemory;
  static constant constexpr uint kTaps = Steps::kDeep * Steps::kHigh * Steps::kWide;
  Input patches;
  Filters filters;

  INLINED static WindowTile of(device const T* x, device const T* w, Volume volume, uint filters,
                               uint phase) {
    const Input patches = {x, volume, Steps::of(phase)};
    return {patches, {w, filters, kTaps * volume.channels, patches.taps}};
  }

  INLINED void multiply(thread Tile& product) const {
    product.multiply(patches, filters, patches.depth());
  }
};

// A convolution; Taps is how many taps a filter has in all.
template <typename T, typename Steps, uint Taps, uint TileM, uint TileN, uint TileK,
          typename Map = AsItIs>
struct WindowProduct {
  using Sources = WindowTile<T, Steps, TileM, TileN, TileK>;
  static constant constexpr uint kMemory = Sources::kMemory;
  device const T* x;
  device const T* w;
  device T* y;
  Volume volume;
  uint filters;
  uint groups;
  Map map;

  INLINED void compute(uint3 tile, threadgroup float4* memory, Place place) const {
    const uint group = tile.z / Steps::kPhases;
    const uint inner = volume.channels / groups;
    const uint own = filters / groups;
    Volume part = volume;
    part.channels = inner;
    const Sources sources = Sources::of(x + group * inner, w + ulong(group) * own * (Taps * inner),
                                        part, own, tile.z % Steps::kPhases);
    if (tile.y * TileM >= sources.patches.rows()) {
      return;
    }
    typename Sources::Tile product(tile.xy * uint2(TileN, TileM), memory, place);
    sources.multiply(product);
    product.store(StoreWindows<T, typename Sources::Input, Map>{y + group * own, sources.patches,
                                                                own, filters, map});
  }
};

}  // namespace metalbench
