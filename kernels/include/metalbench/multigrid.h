// Grids of a V-cycle of multigrid for Poisson's equation, 4 u - (sum of the neighbours) = side,
// with zeros beyond the border. A grid has 2^k - 1 cells on a side; the next one has every other of
// them. Sweeps are Jacobi's, damped by 4/5. A residual is restricted by full weighting, a
// correction is interpolated bilinearly. Sides are multiplied by the square of the cells' distance,
// so that a restricted residual counts four times.
#pragma once
#include <metal_stdlib>

#include "metalbench/inlined.h"

namespace metalbench {

using namespace metal;

constant constexpr float kDamping = 0.8f / 4;

// Value (y, x) of a grid of n x n values; zero beyond its border.
template <typename Values>
inline float value_or_zero(Values grid, int y, int x, int n) {
  float value = 0.0f;
  if (min(y, x) >= 0 && max(y, x) < n) {
    value = grid[y * n + x];
  }
  return value;
}

// The correction at cell (y, x) of a grid, interpolated from a coarse one of n x n cells, whose
// cell k is cell 2 k + 1 of the fine one.
template <typename Values>
inline float interpolate(Values coarse, int y, int x, int n) {
  const int top = (y - 1) >> 1, bottom = y >> 1, left = (x - 1) >> 1, right = x >> 1;
  const float above = value_or_zero(coarse, top, left, n) + value_or_zero(coarse, top, right, n);
  const float below =
      value_or_zero(coarse, bottom, left, n) + value_or_zero(coarse, bottom, right, n);
  return 0.25f * (above + below);
}

// A tile of 32 x 32 cells, whose lanes have a column and every Tall-th row.
template <uint Tall>
struct MultigridTile {
  static constant constexpr int kSide = 32;
  static constant constexpr uint kOwn = kSide / Tall;  // cells of a thread
  static constant constexpr int kCoarse = 13;          // coarse cells of a tile that goes down
  static constant constexpr int kInner = 28;           // cells that a tile that goes up stores

  struct Memory {
    float values[kSide][kSide];
  };

  threadgroup Memory& memory;
  int n;
  uint3 group;
  int column;  // of this thread, in the tile
  int first;   // its first row

  MultigridTile(threadgroup Memory& memory, uint n, uint3 group, uint3 place)
      : memory(memory), n(int(n)), group(group), column(int(place.x)), first(int(place.y)) {}

  // The sum of the neighbours in the tile; those beyond its border, whose results are not used, are
  // the cell's own row or column.
  INLINED float sum_neighbours(int y, int x) const {
    const int up = max(y - 1, 0), down = min(y + 1, kSide - 1);
    const int left = max(x - 1, 0), right = min(x + 1, kSide - 1);
    return (memory.values[up][x] + memory.values[down][x]) +
           (memory.values[y][left] + memory.values[y][right]);
  }

  INLINED void share(thread const float (&values)[kOwn]) const {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    UNROLLED
    for (uint i = 0; i < kOwn; ++i) {
      memory.values[first + int(i * Tall)][column] = values[i];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }

  // One sweep. Cells beyond the grid stay zero.
  INLINED void sweep(thread float (&u)[kOwn], thread const float (&side)[kOwn], int top,
                     int left) const {
    share(u);
    UNROLLED
    for (uint i = 0; i < kOwn; ++i) {
      const int y = first + int(i * Tall);
      const float residual = side[i] + sum_neighbours(y, column) - 4.0f * u[i];
      const bool is_there = min(top + y, left + column) >= 0 && max(top + y, left + column) < n;
      u[i] = is_there ? fma(kDamping, residual, u[i]) : 0.0f;
    }
  }

  // Two sweeps from zero, stored as `smooth`; the restricted residual is the side of the next grid.
  INLINED void go_down(device const float* side, device float* smooth,
                       device float* coarse_side) const {
    const int top = 2 * kCoarse * int(group.y) - 2, left = 2 * kCoarse * int(group.x) - 2;
    const int x = left + column, coarse_n = n / 2;
    side += group.z * uint(n * n);
    smooth += group.z * uint(n * n);
    coarse_side += group.z * uint(coarse_n * coarse_n);
    float u[kOwn], sides[kOwn];
    UNROLLED
    for (uint i = 0; i < kOwn; ++i) {
      sides[i] = value_or_zero(side, top + first + int(i * Tall), x, n);
      u[i] = kDamping * sides[i];  // the first sweep
    }
    sweep(u, sides, top, left);
    share(u);
    // Of the last tile in a direction also the cells beyond its last coarse one.
    const bool is_last_x = (int(group.x) + 1) * kCoarse >= coarse_n;
    const bool is_last_y = (int(group.y) + 1) * kCoarse >= coarse_n;
    const int width = is_last_x ? kSide : 2 + 2 * kCoarse;
    const int height = is_last_y ? kSide : 2 + 2 * kCoarse;
    UNROLLED
    for (uint i = 0; i < kOwn; ++i) {
      const int y = first + int(i * Tall);
      sides[i] += sum_neighbours(y, column) - 4.0f * u[i];
      const bool is_own = min(y, column) >= 2 && y < height && column < width;
      if (is_own && top + y < n && x < n) {
        smooth[(top + y) * n + x] = u[i];
      }
    }
    share(sides);
    for (int i = first * kSide + column; i < kCoarse * kCoarse; i += kSide * int(Tall)) {
      const int row = i / kCoarse, y = 2 * row + 3, from = 2 * (i % kCoarse) + 3;
      const int to_y = kCoarse * int(group.y) + row, to_x = kCoarse * int(group.x) + i % kCoarse;
      const float corners = (memory.values[y - 1][from - 1] + memory.values[y - 1][from + 1]) +
                            (memory.values[y + 1][from - 1] + memory.values[y + 1][from + 1]);
      const float sum = 4.0f * memory.values[y][from] + 2.0f * sum_neighbours(y, from) + corners;
      if (to_y < coarse_n && to_x < coarse_n) {
        coarse_side[to_y * coarse_n + to_x] = 0.25f * sum;
      }
    }
  }

  // Adds the interpolated correction to `smooth`, and makes two sweeps.
  INLINED void go_up(device const float* side, device const float* smooth,
                     device const float* correction, device float* found) const {
    const int top = kInner * int(group.y) - 2, left = kInner * int(group.x) - 2;
    const int x = left + column, coarse_n = n / 2;
    side += group.z * uint(n * n);
    smooth += group.z * uint(n * n);
    found += group.z * uint(n * n);
    correction += group.z * uint(coarse_n * coarse_n);
    float u[kOwn], sides[kOwn];
    UNROLLED
    for (uint i = 0; i < kOwn; ++i) {
      const int y = top + first + int(i * Tall);
      sides[i] = value_or_zero(side, y, x, n);
      const bool is_there = min(y, x) >= 0 && max(y, x) < n;
      const float added = is_there ? interpolate(correction, y, x, coarse_n) : 0.0f;
      u[i] = value_or_zero(smooth, y, x, n) + added;
    }
    sweep(u, sides, top, left);
    sweep(u, sides, top, left);
    UNROLLED
    for (uint i = 0; i < kOwn; ++i) {
      const int y = first + int(i * Tall);
      const bool is_inner = min(y, column) >= 2 && max(y, column) < 2 + kInner;
      if (is_inner && top + y < n && x < n) {
        found[(top + y) * n + x] = u[i];
      }
    }
  }
};

// All grids from 31 x 31 cells on in threadgroup memory, one after the other.
struct CoarseGrids {
  float sides[1245];  // 31^2 + 15^2 + 7^2 + 3^2 + 1
  float found[1245];
  float next[961];
};

// Where a thread of a threadgroup of 32 x `rows` threads is: a lane has a column.
struct GridPlace {
  int lane;
  int row;
  int rows;
};

// side - (4 u - neighbours) at cell (y, x) of the grid of n x n cells that begins at `start`.
inline float find_residual(threadgroup const CoarseGrids& grids, uint start, int n, int y, int x) {
  const threadgroup float* u = grids.found + start;
  const float in_row = value_or_zero(u, y, x - 1, n) + value_or_zero(u, y, x + 1, n);
  const float in_column = value_or_zero(u, y - 1, x, n) + value_or_zero(u, y + 1, x, n);
  return grids.sides[start + uint(y * n + x)] + (in_row + in_column) - 4.0f * u[y * n + x];
}

// One sweep on that grid.
inline void sweep_grid(threadgroup CoarseGrids& grids, uint start, int n, GridPlace place) {
  for (int y = place.row; y < n && place.lane < n; y += place.rows) {
    const int at = y * n + place.lane;
    const float residual = find_residual(grids, start, n, y, place.lane);
    grids.next[at] = fma(kDamping, residual, grids.found[start + uint(at)]);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (int y = place.row; y < n && place.lane < n; y += place.rows) {
    grids.found[start + uint(y * n + place.lane)] = grids.next[y * n + place.lane];
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
}

// A V-cycle from zero on the grid of `side` x `side` cells at the beginning of `grids`.
inline void solve_coarse_grids(threadgroup CoarseGrids& grids, uint side, GridPlace place) {
  uint start = 0;
  int n = int(side);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (; n > 1; n /= 2) {
    for (int y = place.row; y < n && place.lane < n; y += place.rows) {
      const uint at = start + uint(y * n + place.lane);
      grids.found[at] = kDamping * grids.sides[at];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    sweep_grid(grids, start, n, place);
    for (int y = place.row; y < n && place.lane < n; y += place.rows) {
      grids.next[y * n + place.lane] = find_residual(grids, start, n, y, place.lane);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const int coarse = n / 2;
    start += uint(n * n);
    for (int y = place.row; y < coarse && place.lane < coarse; y += place.rows) {
      const threadgroup float* r = grids.next + (2 * y + 1) * n + 2 * place.lane + 1;
      const float corners = (r[-n - 1] + r[-n + 1]) + (r[n - 1] + r[n + 1]);
      const float edges = (r[-n] + r[n]) + (r[-1] + r[1]);
      const float sum = 4.0f * r[0] + 2.0f * edges + corners;
      grids.sides[start + uint(y * coarse + place.lane)] = 0.25f * sum;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  if (place.row == 0 && place.lane == 0) {
    grids.found[start] = 0.25f * grids.sides[start];
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (n = 3; n <= int(side); n = 2 * n + 1) {
    const threadgroup float* correction = grids.found + start;
    start -= uint(n * n);
    for (int y = place.row; y < n && place.lane < n; y += place.rows) {
      const float added = interpolate(correction, y, place.lane, n / 2);
      grids.found[start + uint(y * n + place.lane)] += added;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    sweep_grid(grids, start, n, place);
    sweep_grid(grids, start, n, place);
  }
}

}  // namespace metalbench
