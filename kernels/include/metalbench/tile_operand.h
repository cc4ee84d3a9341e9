// One operand of a product (tiles.h): from its source (tile_sources.h) to threadgroup memory, and
// from there as 8 x 8 matrices.
#pragma once
#include <metal_simdgroup_matrix>
#include <metal_stdlib>

#include "metalbench/inlined.h"
#include "metalbench/quads.h"
#include "metalbench/tile_layout.h"
#include "metalbench/tile_sources.h"

namespace metalbench {

using namespace metal;

// As deep as asked for, and at most 64 bytes: deeper tiles of float have no room in threadgroup
// memory.
template <typename T>
constexpr uint tile_depth(uint asked) {
  return asked < 64 / sizeof(T) ? asked : 64 / sizeof(T);
}

// One operand on its way: a thread's quads of the next tile, and the tile in threadgroup memory.
template <typename Source, uint Extent, uint Depth, bool IsLeft>
struct Operand {
  using T = typename Source::element;
  static constant constexpr bool kAlong = Source::kAlongDepth;
  static constant constexpr uint kRows = kAlong ? Extent : Depth;
  static constant constexpr uint kRowQuads = (kAlong ? Depth : Extent) / 4;
  static constant constexpr uint kPitch = 4 * kRowQuads + 16 / sizeof(T);
  static constant constexpr uint kTile = kRows * kPitch;
  static constant constexpr uint kQuads = kRows * kRowQuads;
  static constant constexpr uint kThreadQuads = (kQuads + kTileThreads - 1) / kTileThreads;
  // How many adjacent quads a thread loads at once.
  static constant constexpr uint kAdjacent = has_adjacent<Source>(0) && sizeof(T) == 2 &&
                                                     kRowQuads % 2 == 0 &&
                                                     kQuads % (2 * kTileThreads) == 0
                                                 ? 2
                                                 : 1;

  Source source;
  typename Source::Line lines[kThreadQuads];
  Quad<T> fetched[kThreadQuads];
  bool whole;

  // The quad of the tile that number `i` of a thread's quads is.
  INLINED static uint index_of(uint i, uint thread_index) {
    return (i / kAdjacent * kTileThreads + thread_index) * kAdjacent + i % kAdjacent;
  }

  INLINED void begin(uint first, uint thread_index) {
    UNROLLED
    for (uint i = 0; i < kThreadQuads; ++i) {
      const uint index = index_of(i, thread_index);
      lines[i] = source.line(first + (kAlong ? index / kRowQuads : 4 * (index % kRowQuads)));
    }
    whole = kQuads % kTileThreads == 0 && is_whole(source, first, Extent, Depth, 0);
  }

  INLINED void fetch(uint k, uint thread_index) {
    if (whole) {
      UNROLLED
      for (uint i = 0; i < kThreadQuads; i += kAdjacent) {
        take_adjacent<kAdjacent>(source, fetched + i, lines[i], k,
                                 depth_of(index_of(i, thread_index)), 0);
      }
      take_next(source, Depth, 0);
      return;
    }
    UNROLLED
    for (uint i = 0; i < kThreadQuads; ++i) {
      fetched[i] = source.quad(lines[i], k + depth_of(index_of(i, thread_index)));
    }
  }

  INLINED static uint depth_of(uint index) {
    return kAlong ? 4 * (index % kRowQuads) : index / kRowQuads;
  }

  INLINED void put(threadgroup T* tile, uint thread_index) const {
    UNROLLED
    for (uint i = 0; i < kThreadQuads; i += kAdjacent) {
      const uint index = index_of(i, thread_index);
      if (index < kQuads) {
        AdjacentQuads<T, kAdjacent> adjacent;
        UNROLLED
        for (uint j = 0; j < kAdjacent; ++j) {
          adjacent.quads[j] = fetched[i + j];
        }
        ((threadgroup AdjacentQuads<T, kAdjacent>*)
             tile)[index / kRowQuads * (kPitch / (4 * kAdjacent)) + index % kRowQuads / kAdjacent] =
            adjacent;
      }
    }
  }

  // Where the rows or columns from `at` on begin in a tile.
  INLINED static threadgroup const T* part_of(threadgroup const T* tile, uint at) {
    return tile + (kAlong ? at * kPitch : at);
  }

  // The 8 x 8 matrix at row or column `at` of such a part, and at depth `k`.
  INLINED static void load(thread simdgroup_matrix<T, 8, 8>& block, threadgroup const T* part,
                           uint at, uint k) {
    threadgroup const T* from = part + (kAlong ? at * kPitch + k : k * kPitch + at);
    if (kAlong == IsLeft) {
      simdgroup_load(block, from, kPitch);
    } else {
      simdgroup_load(block, from, kPitch, ulong2(0), true);
    }
  }
};

}  // namespace metalbench
