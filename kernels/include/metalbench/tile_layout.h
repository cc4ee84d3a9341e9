// The SIMD-groups of a threadgroup that makes a tile of a product (tiles.h), in rows and columns:
// SIMD_ROWS and SIMD_COLS where a kernel has these tunables, else two of each.
#pragma once
#include <metal_stdlib>

namespace metalbench {

#ifdef SIMD_ROWS
constant constexpr uint kSimdRows = SIMD_ROWS;
constant constexpr uint kSimdCols = SIMD_COLS;
#else
constant constexpr uint kSimdRows = 2;
constant constexpr uint kSimdCols = 2;
#endif
constant constexpr uint kTileThreads = 32 * kSimdRows * kSimdCols;

}  // namespace metalbench
