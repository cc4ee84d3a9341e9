// Fourier transforms of rows of any length up to 512, as convolutions with a chirp (Bluestein, 1970):
// k n = (k^2 + n^2 - (k - n)^2) / 2, so that a transform is a product with exp(-i pi n^2 / N), a
// convolution with its conjugate, and the same product. Convolutions are by transforms of 1024 numbers
// in threadgroup memory (metalbench/fourier.h). The chirp and its spectrum are made once, by the first
// dispatch. Squares are reduced as whole numbers, so that angles are exact to the last bit.
// check: allow few-threadgroups it makes what all rows share
// dispatch: make_chirp  threadgroups=(1)  threads=(TG)
// dispatch: fft_any  threadgroups=(ceil_div(rows, ROWS))  threads=(TG)
// scratch: chirp float32 (cols, 2)
// scratch: spectrum float32 (1024, 2)
// tune: ROWS = 4, 1, 8
// tune: TG = 256, 128, 64
// tune: BUFFERS = 1, 2
// defaults: cpu TG = 64, BUFFERS = 2
// defaults: cuda TG = 128, BUFFERS = 2
// dtypes: float32
// limits: cols <= 512, rows * cols <= 4294967295
#include "metalbench/fourier.h"
using namespace metal;
using namespace metalbench;

constant constexpr uint N = 1024;

// exp(-i pi n^2 / cols)
static float2 chirp_at(uint n, uint cols) {
  // check: allow integer-division it is computed once for all rows
  const float angle = 3.14159265f * (float(n * n % (2 * cols)) / float(cols));
  return float2(precise::cos(angle), -precise::sin(angle));
}

[[kernel]] void make_chirp(device float* chirp, device float* spectrum, constant uint& cols,
                           uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup FourierMemory<N> memory;
  make_roots<N, TG>(memory, thread_index);
  for (uint i = thread_index; i < N; i += TG) {
    // The conjugate at distances from 1 - cols to cols - 1.
    const uint distance = min(i, N - i);
    float2 value = 0.0f;
    if (distance < cols) {
      value = chirp_at(distance, cols);
      memory.rows[0][i] = float2(value.x, -value.y);
    } else {
      memory.rows[0][i] = 0.0f;
    }
    if (i < cols) {
      ((device float2*)chirp)[i] = value;
    }
  }
  const uint found = transform<N, TG>(memory, thread_index);
  for (uint i = thread_index; i < N; i += TG) {
    ((device float2*)spectrum)[i] = memory.rows[found][i] * (1.0f / N);
  }
}

[[kernel]] void fft_any(device const float* re, device const float* im, device const float* chirp,
                        device const float* spectrum, device float* y_re, device float* y_im,
                        constant uint& rows, constant uint& cols,
                        uint group [[threadgroup_position_in_grid]],
                        uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup FourierMemory<N> memory;
  make_roots<N, TG>(memory, thread_index);
  device const float2* factors = (device const float2*)chirp;
  for (uint row = group * ROWS; row < min(rows, (group + 1) * ROWS); ++row) {
    const uint start = row * cols;
    for (uint i = thread_index; i < N; i += TG) {
      float2 value = 0.0f;
      if (i < cols) {
        value = times(float2(re[start + i], im[start + i]), factors[i]);
      }
      memory.rows[0][i] = value;
    }
    const uint found = transform<N, TG>(memory, thread_index);
    // Back by the transform itself, of conjugates.
    float2 own[N / TG];
    UNROLLED
    for (uint i = 0; i < N / TG; ++i) {
      const uint k = thread_index + i * TG;
      own[i] = times(memory.rows[found][k], ((device const float2*)spectrum)[k]);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    UNROLLED
    for (uint i = 0; i < N / TG; ++i) {
      memory.rows[0][thread_index + i * TG] = float2(own[i].x, -own[i].y);
    }
    const uint last = transform<N, TG>(memory, thread_index);
    for (uint i = thread_index; i < cols; i += TG) {
      const float2 sum = memory.rows[last][i];
      const float2 value = times(float2(sum.x, -sum.y), factors[i]);
      y_re[start + i] = value.x;
      y_im[start + i] = value.y;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
}
