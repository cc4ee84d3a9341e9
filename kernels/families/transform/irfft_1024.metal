// Real rows of 1024 numbers from their spectra of 513: the spectra of even and odd numbers are joined
// to one of 512 complex numbers, whose transform in threadgroup memory has both
// (metalbench/real_fourier.h). The imaginary parts of the first and the last number are zero in the
// spectrum of real numbers, and are ignored.
// dispatch: irfft  threadgroups=(ceil_div(rows, ROWS))  threads=(TG)
// tune: ROWS = 8, 1, 4, 16
// tune: TG = 256, 128, 64
// tune: BUFFERS = 1, 2
// defaults: cpu TG = 64, BUFFERS = 2
// defaults: cuda BUFFERS = 2
// dtypes: float32
// limits: cols == 1024
#include "metalbench/real_fourier.h"
using namespace metal;
using namespace metalbench;

constant constexpr uint N = 1024;

[[kernel]] void irfft(device const float* re, device const float* im, device float* y,
                      constant uint& rows, uint group [[threadgroup_position_in_grid]],
                      uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup FourierMemory<N / 2> memory;
  make_roots<N / 2, TG>(memory, thread_index);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint row = group * ROWS; row < min(rows, (group + 1) * ROWS); ++row) {
    const ulong start = ulong(row) * (N / 2 + 1);
    for (uint k = thread_index; k < N / 2; k += TG) {
      const uint other = N / 2 - k;
      const float own = im[start + k], mirror = im[start + other];
      const float2 first = float2(re[start + k], k == 0 ? 0.0f : own);
      const float2 second = float2(re[start + other], k == 0 ? 0.0f : mirror);
      memory.rows[0][k] = join_spectrum<N>(memory, first, second, k);
    }
    const uint found = transform<N / 2, TG>(memory, thread_index);
    device float2* pairs = (device float2*)(y + ulong(row) * N);
    for (uint k = thread_index; k < N / 2; k += TG) {
      pairs[k] = conjugate(memory.rows[found][k]) * (2.0f / N);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
}
