// The sum of each row by a threadgroup of 128 threads, four SIMD-groups. PLACE_ARGUMENTS declares
// the arguments that PLACE reads: the index of the thread, of its lane and of its SIMD-group.
// Threadgroup memory: 16 bytes.
// dispatch: sum_rows  threadgroups=(rows)  threads=(128)
#include "metalbench/reduce.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void sum_rows(device const float* x, device float* y, constant uint& cols,
                         uint row [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float partial[4];
  float sum = 0.0f;
  for (uint i = thread_index; i < cols; i += 128) {
    sum += x[ulong(row) * cols + i];
  }
  sum = group_sum<4>(sum, partial, PLACE);
  if (thread_index == 0) {
    y[row] = sum;
  }
}
