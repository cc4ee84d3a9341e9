// A threadgroup's tile of a matrix product C = A B, with simdgroup_matrix.
// SIMD-groups, four if nothing else is said, hold a TileM x TileN tile of C, two beside each other,
// in registers as 8 x 8 matrices of float. Tiles of A and B of depth TileK pass through threadgroup
// memory twice buffered: while one pair is multiplied the next is on its way in registers, and it
// goes into the other buffer, which hides the latency of memory and takes one barrier per step.
// Padding of 16 bytes per row keeps the eight rows of a matrix load in different banks.
//
// What is multiplied is a template parameter, a *source* (tile_sources.h), and so is what becomes
// of the sums. An *epilogue* (epilogues.h) is called with the row, the column and the place in
// threadgroup memory of each quad of C.
#pragma once
#include <metal_simdgroup_matrix>
#include <metal_stdlib>

#include "metalbench/inlined.h"
#include "metalbench/quads.h"
#include "metalbench/reduce.h"
#include "metalbench/tile_sources.h"

namespace metalbench {

using namespace metal;

constant constexpr uint kTileThreads = 128;

// One operand on its way: a thread's share of the tile to come, and the tile in threadgroup memory.
template <typename Source, uint Extent, uint Depth, bool IsLeft, uint Threads = kTileThreads>
struct Operand {
  using T = typename Source::element;
  static constant constexpr bool kAlong = Source::kAlongDepth;
  static constant constexpr uint kRows = kAlong ? Extent : Depth;
  static constant constexpr uint kRowQuads = (kAlong ? Depth : Extent) / 4;
  static constant constexpr uint kPitch = 4 * kRowQuads + 16 / sizeof(T);
  static constant constexpr uint kTile = kRows * kPitch;
  static constant constexpr uint kQuads = kRows * kRowQuads;
  static constant constexpr uint kShare = (kQuads + Threads - 1) / Threads;
  // Quads that a thread has beside each other.
  static constant constexpr uint kRun =
      has_runs<Source>(0) && sizeof(T) == 2 && kRowQuads % 2 == 0 && kQuads % (2 * Threads) == 0
          ? 2
          : 1;

  Source source;
  typename Source::Line lines[kShare];
  Quad<T> share[kShare];
  bool whole;

  // The quad of the tile that number `i` of a thread's share is.
  INLINED static uint index_of(uint i, uint thread_index) {
    return (i / kRun * Threads + thread_index) * kRun + i % kRun;
  }

  INLINED void begin(uint first, uint thread_index) {
    for (uint i = 0; i < kShare; ++i) {
      const uint index = index_of(i, thread_index);
      lines[i] = source.line(first + (kAlong ? index / kRowQuads : 4 * (index % kRowQuads)));
    }
    whole = kQuads % Threads == 0 && is_whole(source, first, Extent, Depth, 0);
  }

  INLINED void fetch(uint k, uint thread_index) {
    if (whole) {
      for (uint i = 0; i < kShare; i += kRun) {
        take_run<kRun>(source, share + i, lines[i], k + depth_of(index_of(i, thread_index)), 0);
      }
      return;
    }
    for (uint i = 0; i < kShare; ++i) {
      share[i] = source.quad(lines[i], k + depth_of(index_of(i, thread_index)));
    }
  }

  INLINED static uint depth_of(uint index) {
    return kAlong ? 4 * (index % kRowQuads) : index / kRowQuads;
  }

  INLINED void put(threadgroup T* tile, uint thread_index) const {
    for (uint i = 0; i < kShare; i += kRun) {
      const uint index = index_of(i, thread_index);
      if (index < kQuads) {
        QuadRun<T, kRun> run;
        for (uint j = 0; j < kRun; ++j) {
          run.quads[j] = share[i + j];
        }
        ((threadgroup QuadRun<T, kRun>*)
             tile)[index / kRowQuads * (kPitch / (4 * kRun)) + index % kRowQuads / kRun] = run;
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

// The product of the rows of A from corner.y and the columns of B from corner.x.
template <typename A, typename B, uint TileM, uint TileN, uint TileK, uint Threads = kTileThreads>
struct Product {
  using T = typename A::element;
  using Left = Operand<A, TileM, TileK, true, Threads>;
  using Right = Operand<B, TileN, TileK, false, Threads>;
  // 8 x 8 matrices down and across that a SIMD-group holds.
  static constant constexpr uint kPartM = TileM / (Threads / 64);
  static constant constexpr uint kDown = kPartM / 8;
  static constant constexpr uint kAcross = TileN / 16;
  static constant constexpr uint kTilesBytes = 2 * (Left::kTile + Right::kTile) * sizeof(T);
  static constant constexpr uint kStripsBytes = Threads / 32 * 8 * (TileN / 2) * sizeof(float);
  // What `multiply` and `store` need of threadgroup memory, in float4.
  static constant constexpr uint kMemory =
      (kTilesBytes > kStripsBytes ? kTilesBytes : kStripsBytes) / 16;

  uint2 corner;
  threadgroup float4* memory;
  Place place;
  Left left;
  simdgroup_float8x8 sums[kDown][kAcross];

  Product(uint2 corner, threadgroup float4* memory, Place place)
      : corner(corner), memory(memory), place(place) {}

  // Where the SIMD-group's part begins in the tile.
  uint2 part() const {
    return uint2(place.simdgroup % 2, place.simdgroup / 2) * uint2(TileN / 2, kPartM);
  }

  // `memory` may be used again afterwards, by all threads, and `left` knows the lines of A. What
  // the loop works on are variables of its own: beside matrices, whose address is taken, they might
  // not stay in registers.
  INLINED void multiply(A a, B b, uint depth) {
    const uint thread_index = place.thread_index;
    const uint2 own = part();
    Left rows;
    Right columns;
    rows.source = a;
    columns.source = b;
    rows.begin(corner.y, thread_index);
    columns.begin(corner.x, thread_index);
    for (uint i = 0; i < kDown; ++i) {
      for (uint j = 0; j < kAcross; ++j) {
        sums[i][j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
      }
    }
    rows.fetch(0, thread_index);
    columns.fetch(0, thread_index);
    threadgroup T* tile = (threadgroup T*)memory;
    uint current = 0;
    for (uint k = 0; k < depth; k += TileK) {
      threadgroup T* pair = tile + current * (Left::kTile + Right::kTile);
      rows.put(pair, thread_index);
      columns.put(pair + Left::kTile, thread_index);
      threadgroup_barrier(mem_flags::mem_threadgroup);
      if (k + TileK < depth) {
        rows.fetch(k + TileK, thread_index);
        columns.fetch(k + TileK, thread_index);
      }
      accumulate(pair, own);
      current ^= 1;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    left = rows;
  }

  // Adds the product of the SIMD-group's part of both tiles.
  INLINED void accumulate(threadgroup const T* pair, uint2 own) {
    threadgroup const T* rows = Left::part_of(pair, own.y);
    threadgroup const T* columns = Right::part_of(pair + Left::kTile, own.x);
    for (uint k = 0; k < TileK; k += 8) {
      simdgroup_matrix<T, 8, 8> a[kDown];
      simdgroup_matrix<T, 8, 8> b[kAcross];
      for (uint i = 0; i < kDown; ++i) {
        Left::load(a[i], rows, 8 * i, k);
      }
      for (uint j = 0; j < kAcross; ++j) {
        Right::load(b[j], columns, 8 * j, k);
      }
      for (uint i = 0; i < kDown; ++i) {
        for (uint j = 0; j < kAcross; ++j) {
          simdgroup_multiply_accumulate(sums[i][j], a[i], b[j], sums[i][j]);
        }
      }
    }
  }

  // Through threadgroup memory, eight rows at a time, so that whole rows leave in quads and the
  // edge of C is a test. Each SIMD-group has a strip of its own, TileN / 8 quads wide.
  template <typename Epilogue>
  void store(Epilogue epilogue) {
    constexpr uint width = TileN / 8;
    const uint lane = place.lane;
    const uint2 first = corner + part();
    threadgroup float4* strip = memory + place.simdgroup * 8 * width;
    for (uint i = 0; i < kDown; ++i) {
      for (uint j = 0; j < kAcross; ++j) {
        simdgroup_store(sums[i][j], (threadgroup float*)strip + 8 * j, 4 * width);
      }
      simdgroup_barrier(mem_flags::mem_threadgroup);
      for (uint index = lane; index < 8 * width; index += 32) {
        epilogue(first.y + 8 * i + index / width, first.x + 4 * (index % width), strip + index);
      }
      simdgroup_barrier(mem_flags::mem_threadgroup);
    }
  }
};

}  // namespace metalbench
