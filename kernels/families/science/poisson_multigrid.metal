// One V-cycle of multigrid for Poisson's equation, from zero, in seven dispatches: down three grids,
// the coarse grids in one threadgroup, and up again. Down, a tile of 32 x 32 cells makes two sweeps of
// Jacobi's method, the residual and its restriction in threadgroup memory, so that a grid is read once
// and written once. Up, a tile adds the interpolated correction and makes two sweeps. Of each grid
// only every other cell of every other row is on the next. Outside of a grid all values are zero.
// dispatch: down_1  threadgroups=(ceil_div(n / 2, 13), ceil_div(n / 2, 13), batch)  threads=(32, TALL, 1)
// dispatch: down_2  threadgroups=(ceil_div(n / 4, 13), ceil_div(n / 4, 13), batch)  threads=(32, TALL, 1)
// dispatch: down_3  threadgroups=(ceil_div(n / 8, 13), ceil_div(n / 8, 13), batch)  threads=(32, TALL, 1)
// dispatch: coarse  threadgroups=(batch, 1, 1)  threads=(32, TALL, 1)
// dispatch: up_3  threadgroups=(ceil_div(n / 4, 28), ceil_div(n / 4, 28), batch)  threads=(32, TALL, 1)
// dispatch: up_2  threadgroups=(ceil_div(n / 2, 28), ceil_div(n / 2, 28), batch)  threads=(32, TALL, 1)
// dispatch: up_1  threadgroups=(ceil_div(n, 28), ceil_div(n, 28), batch)  threads=(32, TALL, 1)
// scratch: smooth_1 float32 (batch, n, n)
// scratch: smooth_2 float32 (batch, n / 2, n / 2)
// scratch: smooth_3 float32 (batch, n / 4, n / 4)
// scratch: side_2 float32 (batch, n / 2, n / 2)
// scratch: side_3 float32 (batch, n / 4, n / 4)
// scratch: side_4 float32 (batch, n / 8, n / 8)
// scratch: found_4 float32 (batch, n / 8, n / 8)
// scratch: found_3 float32 (batch, n / 4, n / 4)
// scratch: found_2 float32 (batch, n / 2, n / 2)
// tune: TALL = 8, 4
// defaults: cpu TALL = 4
// dtypes: float32
// limits: 15 <= n, n <= 255, batch * n * n <= 4294967295
#include "metalbench/multigrid.h"
using namespace metal;
using namespace metalbench;

using Tile = MultigridTile<TALL>;

#define DOWN(name, side, smooth, coarse_side, level)                                             \
  [[kernel]] void name(device const float* side, device float* smooth, device float* coarse_side, \
                       constant uint& n, uint3 group [[threadgroup_position_in_grid]],           \
                       uint3 place [[thread_position_in_threadgroup]]) {                         \
    threadgroup Tile::Memory memory;                                                             \
    Tile(memory, n >> level, group, place).go_down(side, smooth, coarse_side);                   \
  }

#define UP(name, side, smooth, correction, found, level)                                       \
  [[kernel]] void name(device const float* side, device const float* smooth,                   \
                       device const float* correction, device float* found, constant uint& n,  \
                       uint3 group [[threadgroup_position_in_grid]],                           \
                       uint3 place [[thread_position_in_threadgroup]]) {                       \
    threadgroup Tile::Memory memory;                                                           \
    Tile(memory, n >> level, group, place).go_up(side, smooth, correction, found);             \
  }

DOWN(down_1, f, smooth_1, side_2, 0)
DOWN(down_2, side_2, smooth_2, side_3, 1)
DOWN(down_3, side_3, smooth_3, side_4, 2)
UP(up_3, side_3, smooth_3, found_4, found_3, 2)
UP(up_2, side_2, smooth_2, found_3, found_2, 1)
UP(up_1, f, smooth_1, found_2, y, 0)

[[kernel, max_total_threads_per_threadgroup(32 * TALL)]] void coarse(
    device const float* side_4, device float* found_4, constant uint& n,
    uint3 group [[threadgroup_position_in_grid]], uint3 at [[thread_position_in_threadgroup]]) {
  threadgroup CoarseGrids grids;
  const uint side = n >> 3, start = group.x * side * side;
  for (uint y = at.y; y < side && at.x < side; y += TALL) {
    grids.sides[y * side + at.x] = side_4[start + y * side + at.x];
  }
  solve_coarse_grids(grids, side, GridPlace{int(at.x), int(at.y), TALL});
  for (uint y = at.y; y < side && at.x < side; y += TALL) {
    found_4[start + y * side + at.x] = grids.found[y * side + at.x];
  }
}
