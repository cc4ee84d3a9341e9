// Fourier transforms of rows, real and imaginary parts separate: a threadgroup has ROWS rows, one
// after the other, in threadgroup memory (metalbench/fourier.h), so that memory is read and written
// once and the roots of unity are made once for all of them. The inverse is the transform of the
// number with its parts exchanged, exchanged again, by the row's length.
// dispatch: fourier  threadgroups=(ceil_div(rows, ROWS))  threads=(TG)
// instance: n1024 LENGTH = 1024, INVERSE = 0
// instance: n256 LENGTH = 256, INVERSE = 0
// instance: n480 LENGTH = 480, INVERSE = 0
// instance: inverse LENGTH = 1024, INVERSE = 1
// tune: ROWS = 8, 1, 4, 16
// tune: TG = 128, 64, 256
// tune: BUFFERS = 1, 2
// defaults: cpu BUFFERS = 2
// defaults: cuda BUFFERS = 2
// dtypes: float32
// limits: cols == LENGTH
#include "metalbench/fourier.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void fourier(device const float* re, device const float* im, device float* y_re,
                        device float* y_im, constant uint& rows,
                        uint group [[threadgroup_position_in_grid]],
                        uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup FourierMemory<LENGTH> memory;
  make_roots<LENGTH, TG>(memory, thread_index);
  for (uint row = group * ROWS; row < min(rows, (group + 1) * ROWS); ++row) {
    const ulong start = ulong(row) * LENGTH;
    for (uint i = thread_index; i < LENGTH; i += TG) {
      const float2 v = float2(re[start + i], im[start + i]);
      memory.rows[0][i] = INVERSE ? v.yx : v;
    }
    const uint last = transform<LENGTH, TG>(memory, thread_index);
    for (uint i = thread_index; i < LENGTH; i += TG) {
      const float2 v = memory.rows[last][i];
      y_re[start + i] = INVERSE ? v.y * (1.0f / LENGTH) : v.x;
      y_im[start + i] = INVERSE ? v.x * (1.0f / LENGTH) : v.y;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
}
