// Each row in reverse, for rows of 128 elements: lane i reads quad i of the row, and writes quad
// 31 - i. The array of a thread stays in registers, because the loop over it is unrolled.
// Threadgroup memory: 0 bytes.
// dispatch: reverse_rows  threadgroups=(rows)  threads=(32)
// limits: cols == 128
#include "metalbench/inlined.h"
#include "metalbench/quads.h"
using namespace metalbench;

INLINED static void swap_ends(thread float (&v)[4]) {
  UNROLLED
  for (uint i = 0; i < 2; ++i) {
    const float first = v[i];
    v[i] = v[3 - i];
    v[3 - i] = first;
  }
}

[[kernel]] void reverse_rows(device const float* x, device float* y, constant uint& cols,
                             uint row [[threadgroup_position_in_grid]],
                             uint lane [[thread_index_in_simdgroup]]) {
  const float4 four = quad_at(x + row * cols, lane);
  float v[4] = {four.x, four.y, four.z, four.w};
  swap_ends(v);
  put_quad(y + row * cols, 31 - lane, float4(v[0], v[1], v[2], v[3]));
}
