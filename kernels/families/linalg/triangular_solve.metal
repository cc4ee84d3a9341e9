// Solutions of L X = B for a batch of lower triangles, with many right sides: a thread has a column of
// X, HEIGHT rows at a time. The products with the rows above are summed, with coefficients that
// pass through threadgroup memory (metalbench/block_rows.h), then the triangle on the diagonal is
// solved in registers. A thread reads from X what it wrote itself, so that nothing waits for others.
// dispatch: triangular_solve  threadgroups=(ceil_div(sides, TG), batch)  threads=(TG)
// tune: TG = 64, 128, 32
// defaults: cpu TG = 32
// dtypes: float32
// limits: n <= 4096, n * sides <= 4294967295
#include "metalbench/block_rows.h"
using namespace metal;
using namespace metalbench;

constant constexpr uint HEIGHT = 16;
using Rows = BlockRows<HEIGHT>;

[[kernel]] void triangular_solve(device const float* a, device const float* b, device float* y,
                                 constant uint& n, constant uint& sides,
                                 uint2 group [[threadgroup_position_in_grid]],
                                 uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup Rows::Memory memory;
  const uint column = group.x * TG + thread_index, at = min(column, sides - 1);
  a += ulong(group.y) * n * n;
  b += ulong(group.y) * n * sides;
  y += ulong(group.y) * n * sides;
  for (uint row = 0; row < n; row += HEIGHT) {
    const uint heights = min(HEIGHT, n - row);
    device const float* block = a + row * n;
    for (uint i = thread_index; i < HEIGHT * HEIGHT; i += TG) {
      const uint s = i / HEIGHT, r = i % HEIGHT;
      const float value = s < heights && r <= s ? block[s * n + row + r] : 0.0f;
      memory.corner[r][s] = value;
      if (r == s) {
        memory.diagonal[s] = s < heights ? value : 1.0f;
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float values[HEIGHT];
    Rows::multiply(values, y + at, sides, row, heights, LowerRows{block, n}, memory, thread_index,
                   TG);
    UNROLLED
    for (uint j = 0; j < HEIGHT; ++j) {
      values[j] = j < heights ? b[(row + j) * sides + at] - values[j] : 0.0f;
    }
    Rows::solve(values, memory);
    UNROLLED
    for (uint j = 0; j < HEIGHT; ++j) {
      if (j < heights && column < sides) {
        y[(row + j) * sides + column] = values[j];
      }
    }
    // Threads without a column read the last one.
    threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
  }
}
