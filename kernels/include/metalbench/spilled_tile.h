// A tile of a product left in threadgroup memory as a whole, row by row, for what needs all columns
// of a row at once: softmax or a norm over channels, a maximum, pooling over rows.
#pragma once
#include "metalbench/tiles.h"

namespace metalbench {

// What a Product needs of threadgroup memory that is multiplied and then spilled, in float4.
template <typename Tile, uint TileM, uint TileN>
struct Spilled {
  static constant constexpr uint kTile = TileM * TileN / 4;
  static constant constexpr uint kMemory = Tile::kMemory > kTile ? Tile::kMemory : kTile;
};

// Afterwards all threads see the tile in the product's memory: rows of TileN numbers.
template <uint TileN, typename Tile>
threadgroup const float* spill(thread const Tile& product) {
  threadgroup float* rows = (threadgroup float*)product.memory;
  threadgroup float* own = rows + product.part().y * TileN + product.part().x;
  UNROLLED
  for (uint i = 0; i < Tile::kDown; ++i) {
    UNROLLED
    for (uint j = 0; j < Tile::kAcross; ++j) {
      simdgroup_store(product.sums[i][j], own + 8 * i * TileN + 8 * j, TileN);
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  return rows;
}

// Product::store by way of a spilled tile, one quad after the other: the code has an epilogue of
// many instructions once.
template <uint TileM, uint TileN, typename Tile, typename Epilogue>
void store_spilled(thread const Tile& product, Epilogue epilogue) {
  constexpr uint across = TileN / 4;
  threadgroup const float4* sums = (threadgroup const float4*)spill<TileN>(product);
  ROLLED
  for (uint i = product.place.thread_index; i < TileM * across; i += kTileThreads) {
    epilogue(product.corner.y + i / across, product.corner.x + 4 * (i % across), sums + i);
  }
}

}  // namespace metalbench
