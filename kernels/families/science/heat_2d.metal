// Sixteen steps of the heat equation in two dispatches of eight: a tile of 64 x 64 cells makes eight
// steps in registers and threadgroup memory, so that memory is read and written once for them
// (metalbench/stencil.h). 48 x 48 cells of it are stored; the others are read by several
// threadgroups, and their arithmetic is the price.
// dispatch: first_steps  threadgroups=(ceil_div(cols, SIDE - 16), ceil_div(rows, SIDE - 16))  threads=(SIDE * SIDE / RUN)
// dispatch: last_steps  threadgroups=(ceil_div(cols, SIDE - 16), ceil_div(rows, SIDE - 16))  threads=(SIDE * SIDE / RUN)
// scratch: half_way float32 (rows, cols)
// tune: SIDE = 64, 32
// tune: RUN = 8, 16
// dtypes: float32, float16, bfloat16
// limits: steps == 16, rows * cols <= 4294967295
#include "metalbench/stencil.h"
using namespace metal;
using namespace metalbench;

constant constexpr uint STEPS = 8;  // of a dispatch
using Tile = StencilTile<SIDE, RUN, STEPS>;

template <typename From, typename To>
INLINED static void advance(device const From* from, device To* to, float rate, Tile tile) {
  float u[RUN], sums[RUN];
  tile.load(from, u);
  for (uint step = 0; step < STEPS; ++step) {
    tile.differences(u, sums);
    UNROLLED
    for (uint i = 0; i < RUN; ++i) {
      // check: allow registers a core still runs a threadgroup of 512 threads and half of another
      u[i] = fma(rate, sums[i], u[i]);
    }
  }
  tile.store(to, u);
}

[[kernel, max_total_threads_per_threadgroup(SIDE* SIDE / RUN)]] void first_steps(
    device const DTYPE* u, device float* half_way, constant uint& rows, constant uint& cols,
    constant float& rate, uint2 group [[threadgroup_position_in_grid]],
    uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup float plane[SIDE * SIDE];
  advance(u, half_way, rate, Tile(plane, rows, cols, group, thread_index));
}

[[kernel, max_total_threads_per_threadgroup(SIDE* SIDE / RUN)]] void last_steps(
    device const float* half_way, device DTYPE* y, constant uint& rows, constant uint& cols,
    constant float& rate, uint2 group [[threadgroup_position_in_grid]],
    uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup float plane[SIDE * SIDE];
  advance(half_way, y, rate, Tile(plane, rows, cols, group, thread_index));
}
