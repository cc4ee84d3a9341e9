// Tiles of a two-dimensional grid for several steps of a five-point stencil in one dispatch
// (temporal blocking). A tile has Halo more cells on each side than it stores: the wrong values of
// its border move inwards by one cell a step, and have not reached what it stores after Halo steps.
//
// A thread has Run cells of one column in registers. Neighbours in other columns, and those of the
// ends of its run, pass through threadgroup memory. No heat passes the border of the grid: a
// neighbour beyond it is the cell itself.
#pragma once
#include <metal_stdlib>

#include "metalbench/inlined.h"

namespace metalbench {

using namespace metal;

template <uint Side, uint Run, uint Halo>
struct StencilTile {
  static constant constexpr uint kInner = Side - 2 * Halo;
  static constant constexpr uint kThreads = Side * Side / Run;
  static_assert(Side % Run == 0 && 2 * Halo < Side, "tiles consist of runs and have an inner part");

  threadgroup float* plane;  // Side * Side values
  uint rows;
  uint cols;
  uint column;    // of this thread, in the tile
  uint first;     // the first row of its run, in the tile
  int at_column;  // the same in the grid, negative or too large beyond its border
  int at_row;

  StencilTile(threadgroup float* plane, uint rows, uint cols, uint2 group, uint thread_index)
      : plane(plane), rows(rows), cols(cols) {
    column = thread_index % Side;
    first = thread_index / Side * Run;
    at_column = int(group.x * kInner + column) - int(Halo);
    at_row = int(group.y * kInner + first) - int(Halo);
  }

  // The cells of the run, those beyond the border as the nearest ones within.
  template <typename T>
  INLINED void load(device const T* grid, thread float (&run)[Run]) const {
    const uint x = uint(clamp(at_column, 0, int(cols) - 1));
    UNROLLED
    for (uint i = 0; i < Run; ++i) {
      const uint y = uint(clamp(at_row + int(i), 0, int(rows) - 1));
      run[i] = float(grid[y * cols + x]);
    }
  }

  // Passes the run on to other threads and returns the sums of differences of the four neighbours
  // of each cell from it. It has two barriers, so that it may be called again at once.
  INLINED void differences(thread const float (&run)[Run], thread float (&sums)[Run]) const {
    UNROLLED
    for (uint i = 0; i < Run; ++i) {
      plane[(first + i) * Side + column] = run[i];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const uint left = at_column <= 0 || column == 0 ? column : column - 1;
    const uint right = at_column >= int(cols) - 1 || column == Side - 1 ? column : column + 1;
    const float before = first == 0 ? run[0] : plane[(first - 1) * Side + column];
    const float after = first + Run == Side ? run[Run - 1] : plane[(first + Run) * Side + column];
    UNROLLED
    for (uint i = 0; i < Run; ++i) {
      const int y = at_row + int(i);
      const float up = y <= 0 ? run[i] : (i == 0 ? before : run[i == 0 ? 0 : i - 1]);
      const float down =
          y >= int(rows) - 1 ? run[i] : (i + 1 == Run ? after : run[i + 1 == Run ? i : i + 1]);
      const float beside = (plane[(first + i) * Side + left] - run[i]) +
                           (plane[(first + i) * Side + right] - run[i]);
      sums[i] = beside + ((up - run[i]) + (down - run[i]));
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }

  // Stores the cells of the run that are in the inner part of the tile and in the grid.
  template <typename T>
  INLINED void store(device T* grid, thread const float (&run)[Run]) const {
    const bool is_inner = column >= Halo && column < Side - Halo && at_column < int(cols);
    UNROLLED
    for (uint i = 0; i < Run; ++i) {
      const int y = at_row + int(i);
      if (is_inner && first + i >= Halo && first + i < Side - Halo && y < int(rows)) {
        grid[uint(y) * cols + uint(at_column)] = T(run[i]);
      }
    }
  }
};

}  // namespace metalbench
