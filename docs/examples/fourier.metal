// The power of each frequency of rows of 60 numbers. A threadgroup of 32 threads has a row: its
// numbers are the real parts of the first buffer, and `transform` returns the buffer of the result.
// Threadgroup memory: 1440 bytes.
// dispatch: power  threadgroups=(rows)  threads=(32)
#include "metalbench/fourier.h"
using namespace metalbench;

[[kernel]] void power(device const float* x, device float* y,
                      uint row [[threadgroup_position_in_grid]],
                      uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup FourierMemory<60> memory;
  make_roots<60, 32>(memory, thread_index);
  for (uint i = thread_index; i < 60; i += 32) {
    memory.rows[0][i] = float2(x[ulong(row) * 60 + i], 0.0f);
  }
  const uint last = transform<60, 32>(memory, thread_index);
  for (uint i = thread_index; i < 60; i += 32) {
    const float2 number = memory.rows[last][i];
    y[ulong(row) * 60 + i] = dot(number, number);
  }
}
