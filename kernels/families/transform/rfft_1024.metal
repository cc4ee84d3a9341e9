// Fourier transforms of rows of 1024 real numbers, of which 513 complex numbers are not determined by
// the others: a row is transformed as 512 complex numbers in threadgroup memory, and the spectra of its
// even and odd numbers are separated by their symmetry (metalbench/real_fourier.h).
// dispatch: rfft  threadgroups=(ceil_div(rows, ROWS))  threads=(TG)
// tune: ROWS = 8, 1, 4, 16
// tune: TG = 128, 64, 256
// tune: BUFFERS = 1, 2
// defaults: cpu TG = 64, BUFFERS = 2
// defaults: cuda BUFFERS = 2
// dtypes: float32
// limits: cols == 1024
#include "metalbench/real_fourier.h"
using namespace metal;
using namespace metalbench;

constant constexpr uint N = 1024;

[[kernel]] void rfft(device const float* x, device float* y_re, device float* y_im,
                     constant uint& rows, uint group [[threadgroup_position_in_grid]],
                     uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup FourierMemory<N / 2> memory;
  make_roots<N / 2, TG>(memory, thread_index);
  for (uint row = group * ROWS; row < min(rows, (group + 1) * ROWS); ++row) {
    device const float2* pairs = (device const float2*)(x + ulong(row) * N);
    for (uint k = thread_index; k < N / 2; k += TG) {
      memory.rows[0][k] = pairs[k];
    }
    const uint found = transform<N / 2, TG>(memory, thread_index);
    const ulong start = ulong(row) * (N / 2 + 1);
    for (uint k = thread_index; k <= N / 2; k += TG) {
      const float2 value = split_spectrum<N>(memory, found, k);
      y_re[start + k] = value.x;
      y_im[start + k] = value.y;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
}
