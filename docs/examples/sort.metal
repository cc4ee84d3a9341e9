// Each row in ascending order, for rows of up to 1024 elements. A key is an unsigned integer of
// the same order as the float; a row is padded with the largest key.
// Threadgroup memory: 4096 bytes.
// dispatch: sort_rows  threadgroups=(rows)  threads=(128)
// limits: cols <= 1024
#include "metalbench/sort.h"
using namespace metalbench;

[[kernel]] void sort_rows(device const float* x, device float* y, constant uint& cols,
                          uint row [[threadgroup_position_in_grid]],
                          uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup uint keys[1024];
  const ulong start = ulong(row) * cols;
  const uint length = sorted_length<4>(cols);  // a lane holds four keys in registers
  for (uint i = thread_index; i < length; i += 128) {
    keys[i] = i < cols ? sort_key(x[start + i]) : ~0u;
  }
  bitonic_sort<4>(keys, length, thread_index, 128);
  for (uint i = thread_index; i < cols; i += 128) {
    y[start + i] = of_sort_key(keys[i]);
  }
}
