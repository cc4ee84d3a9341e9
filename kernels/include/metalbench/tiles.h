// A threadgroup's tile of a matrix product C = A B, with simdgroup_matrix.
// SIMD-groups hold a TileM x TileN tile of C, an equal part each, in registers as 8 x 8 matrices of
// float (tile_layout.h): a larger part reads its operands less often and takes more registers.
// Tiles of A and B of depth TileK pass through threadgroup memory: while one pair is multiplied the
// next is on its way in registers, which hides the latency of memory. With one buffer a step has
// two barriers, with two it has one. Two buffers for 64 x 64 x 16 floats are 18.5 KiB, so a core
// with 32 KiB runs one threadgroup, which waits at barriers; with one buffer it runs three. BUFFERS
// is the tunable of kernels with large tiles: 1 on Apple's GPUs, 2 where barriers cost more than
// memory does. Without it there are two where there is room. Padding of 16 bytes per row keeps the
// eight rows of a matrix load in different banks.
//
// What is multiplied is a template parameter, a *source* (tile_sources.h), and so is what becomes
// of the sums. An *epilogue* (epilogues.h) is called with the row, the column and the place in
// threadgroup memory of each quad of C.
#pragma once
#include <metal_simdgroup_matrix>
#include <metal_stdlib>

#include "metalbench/inlined.h"
#include "metalbench/reduce.h"
#include "metalbench/tile_layout.h"
#include "metalbench/tile_operand.h"

namespace metalbench {

using namespace metal;

// What a threadgroup has on every device.
constant constexpr uint kThreadgroupBytes = 32768;

// The product of the rows of A from corner.y and the columns of B from corner.x.
template <typename A, typename B, uint TileM, uint TileN, uint TileK>
struct Product {
  using T = typename A::element;
  using Left = Operand<A, TileM, TileK, true>;
  using Right = Operand<B, TileN, TileK, false>;
  // 8 x 8 matrices down and across that a SIMD-group holds.
  static constant constexpr uint kDown = TileM / (8 * kSimdRows);
  static constant constexpr uint kAcross = TileN / (8 * kSimdCols);
  static constant constexpr uint kPairBytes = (Left::kTile + Right::kTile) * sizeof(T);
#ifdef BUFFERS
  static constant constexpr bool kIsTwice = BUFFERS > 1 && 2 * kPairBytes <= kThreadgroupBytes;
#else
  static constant constexpr bool kIsTwice = 2 * kPairBytes <= kThreadgroupBytes;
#endif
  static constant constexpr uint kTilesBytes = (kIsTwice ? 2 : 1) * kPairBytes;
  static constant constexpr uint kStripsBytes = 8 * kSimdRows * TileN * sizeof(float);
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
    return uint2(place.simdgroup % kSimdCols, place.simdgroup / kSimdCols) *
           uint2(TileN / kSimdCols, TileM / kSimdRows);
  }

  // `memory` may be used again afterwards, by all threads, and `left` knows the lines of A. What
  // the loop works on are separate variables: together with matrices, whose address is taken, they
  // might not stay in registers.
  INLINED void multiply(A a, B b, uint depth) {
    const uint thread_index = place.thread_index;
    const uint2 own = part();
    Left rows;
    Right columns;
    rows.source = a;
    columns.source = b;
    // check: allow registers where a thread's rows begin is computed once for all steps
    rows.begin(corner.y, thread_index);
    columns.begin(corner.x, thread_index);
    UNROLLED
    for (uint i = 0; i < kDown; ++i) {
      UNROLLED
      for (uint j = 0; j < kAcross; ++j) {
        sums[i][j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
      }
    }
    if (depth > 0) {
      rows.fetch(0, thread_index);
      columns.fetch(0, thread_index);
    }
    threadgroup T* tile = (threadgroup T*)memory;
    uint current = 0;
    for (uint k = 0; k < depth; k += TileK) {
      threadgroup T* pair = tile + current * (Left::kTile + Right::kTile);
      if (!kIsTwice) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
      }
      rows.put(pair, thread_index);
      columns.put(pair + Left::kTile, thread_index);
      threadgroup_barrier(mem_flags::mem_threadgroup);
      if (k + TileK < depth) {
        // check: allow registers the next tile arrives in registers while a thread has the sums
        rows.fetch(k + TileK, thread_index);
        columns.fetch(k + TileK, thread_index);
      }
      accumulate(pair, own);
      current ^= kIsTwice;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    left = rows;
  }

  // Adds the product of the SIMD-group's part of both tiles.
  INLINED void accumulate(threadgroup const T* pair, uint2 own) {
    threadgroup const T* rows = Left::part_of(pair, own.y);
    threadgroup const T* columns = Right::part_of(pair + Left::kTile, own.x);
    UNROLLED
    for (uint k = 0; k < TileK; k += 8) {
      simdgroup_matrix<T, 8, 8> a[kDown];
      UNROLLED
      for (uint i = 0; i < kDown; ++i) {
        Left::load(a[i], rows, 8 * i, k);
      }
      UNROLLED
      for (uint j = 0; j < kAcross; ++j) {
        simdgroup_matrix<T, 8, 8> b;
        Right::load(b, columns, 8 * j, k);
        UNROLLED
        for (uint i = 0; i < kDown; ++i) {
          // check: allow registers a thread has the sums of its part, as large as registers permit
          simdgroup_multiply_accumulate(sums[i][j], a[i], b, sums[i][j]);
        }
      }
    }
  }

  // Through threadgroup memory, eight rows at a time, so that whole rows leave in quads and the
  // edge of C is a test. Each SIMD-group has a separate strip, as wide as its part.
  template <typename Epilogue>
  void store(Epilogue epilogue) {
    constexpr uint width = 2 * kAcross;
    const uint lane = place.lane;
    const uint2 first = corner + part();
    threadgroup float4* strip = memory + place.simdgroup * 8 * width;
    UNROLLED
    for (uint i = 0; i < kDown; ++i) {
      UNROLLED
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
