// Long causal convolutions by Fourier transforms of twice the length, so that nothing wraps round.
// A row and its filter are both real: they are transformed as one complex row, whose spectrum
// separates them by its symmetry, and their product goes back, all in threadgroup memory: two
// transforms in place of three, and no spectrum is ever in memory.
// dispatch: fft_conv  threadgroups=(ceil_div(rows, ROWS))  threads=(TG)
// tune: ROWS = 8, 1, 4, 16
// tune: TG = 256, 128, 64
// tune: BUFFERS = 1, 2
// defaults: cpu TG = 128, BUFFERS = 2
// defaults: cuda TG = 128, BUFFERS = 2
// dtypes: float32
// limits: cols == 512
#include "metalbench/fourier.h"
using namespace metal;
using namespace metalbench;

constant constexpr uint COLS = 512;
constant constexpr uint N = 2 * COLS;

// Of z = x + i w the product of both spectra at k, where z and its mirror image are known:
// (z + z*) / 2 times (z - z*) / 2i.
static float2 product(float2 z, float2 mirror) {
  const float2 conjugate = float2(mirror.x, -mirror.y);
  const float2 v = times(z + conjugate, z - conjugate);
  return 0.25f * float2(v.y, -v.x);
}

[[kernel]] void fft_conv(device const float* x, device const float* w, device float* y,
                         constant uint& rows, uint group [[threadgroup_position_in_grid]],
                         uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup FourierMemory<N> memory;
  make_roots<N, TG>(memory, thread_index);
  for (uint row = group * ROWS; row < min(rows, (group + 1) * ROWS); ++row) {
    const ulong start = ulong(row) * COLS;
    for (uint i = thread_index; i < COLS; i += TG) {
      memory.rows[0][i] = float2(x[start + i], w[start + i]);
      memory.rows[0][i + COLS] = 0.0f;
    }
    const uint found = transform<N, TG>(memory, thread_index);
    // Back by the transform itself, of conjugates.
    float2 own[N / TG];
    for (uint i = 0; i < N / TG; ++i) {
      const uint k = thread_index + i * TG;
      own[i] = product(memory.rows[found][k], memory.rows[found][(N - k) % N]);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = 0; i < N / TG; ++i) {
      memory.rows[0][thread_index + i * TG] = float2(own[i].x, -own[i].y);
    }
    const uint last = transform<N, TG>(memory, thread_index);
    for (uint i = thread_index; i < COLS; i += TG) {
      y[start + i] = memory.rows[last][i].x * (1.0f / N);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
}
