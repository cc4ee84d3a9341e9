// Products of bytes with 32-bit sums, scaled by a factor of the row and one of the column: a linear
// layer with weights and activations of 8 bits. A threadgroup has a tile of TILE x TILE sums. Tiles
// of both operands pass through threadgroup memory as vectors of four bytes along the inner axis;
// a thread has 4 x 4 sums, so that each vector that it loads is used four times.
// dispatch: multiply  threadgroups=(ceil_div(cols, 64), ceil_div(rows, 64))  threads=(16, 16)
// dtypes: float32, float16, bfloat16
// limits: inner % 4 == 0, inner <= 131072
#include "metalbench/inlined.h"
#include <metal_stdlib>
using namespace metal;

constant constexpr uint TILE = 64;
// Vectors of four bytes along the inner axis in a tile; one more a row avoids conflicts of banks.
constant constexpr uint DEPTH = 8;

int dot(char4 a, char4 b) {
  // check: allow registers a thread has 16 sums, and uses each vector that it loads four times
  const int4 products = int4(a) * int4(b);
  return (products.x + products.y) + (products.z + products.w);
}

void fetch(threadgroup char4 (*tile)[DEPTH + 1], device const char4* from, uint first, uint rows,
           uint quads, uint begin, uint thread_index) {
  for (uint i = thread_index; i < TILE * DEPTH; i += 256) {
    const uint row = i / DEPTH, quad = i % DEPTH;
    const bool inside = first + row < rows && begin + quad < quads;
    tile[row][quad] = inside ? from[ulong(first + row) * quads + begin + quad] : char4(0);
  }
}

[[kernel, max_total_threads_per_threadgroup(256)]] void multiply(
    device const char4* x, device const char4* w, device const float* x_scales,
    device const float* w_scales, device DTYPE* y, constant uint& rows, constant uint& cols,
    constant uint& inner, uint2 tile [[threadgroup_position_in_grid]],
    uint2 place [[thread_position_in_threadgroup]],
    uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup char4 left[TILE][DEPTH + 1];
  threadgroup char4 right[TILE][DEPTH + 1];
  const uint2 corner = tile * TILE;
  const uint quads = inner / 4;
  int4 sums[4] = {0, 0, 0, 0};
  for (uint begin = 0; begin < quads; begin += DEPTH) {
    fetch(left, x, corner.y, rows, quads, begin, thread_index);
    fetch(right, w, corner.x, cols, quads, begin, thread_index);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = 0; k < DEPTH; ++k) {
      char4 columns[4];
      UNROLLED
      for (uint j = 0; j < 4; ++j) {
        columns[j] = right[place.x + 16 * j][k];
      }
      UNROLLED
      for (uint i = 0; i < 4; ++i) {
        const char4 row = left[place.y + 16 * i][k];
        UNROLLED
        for (uint j = 0; j < 4; ++j) {
          sums[i][j] += dot(row, columns[j]);
        }
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  UNROLLED
  for (uint i = 0; i < 4; ++i) {
    UNROLLED
    for (uint j = 0; j < 4; ++j) {
      const uint row = corner.y + place.y + 16 * i, column = corner.x + place.x + 16 * j;
      if (row < rows && column < cols) {
        y[ulong(row) * cols + column] = DTYPE(float(sums[i][j]) * (x_scales[row] * w_scales[column]));
      }
    }
  }
}
