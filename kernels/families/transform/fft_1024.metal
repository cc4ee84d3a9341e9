// Fourier transform of rows of 1024, one threadgroup a row: five steps of radix four after
// Stockham, which leave the result in order. A thread takes four numbers 256 apart, turns three of
// them, joins the four, and puts them where the next step reads them; the roots of unity are
// computed once. Threadgroup memory is written once a step and read once; two copies of it in turn
// take one barrier a step.
// dispatch: fft  threadgroups=(rows)  threads=(256)
#include <metal_stdlib>
using namespace metal;

constant constexpr uint COLS = 1024;
constant constexpr uint QUARTER = COLS / 4;

static float2 times(float2 a, float2 b) {
  return float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

// exp(-2 pi i k / COLS)
static float2 root(uint k) {
  const float angle = -6.28318530717958647f * (float(k) / float(COLS));
  return float2(precise::cos(angle), precise::sin(angle));
}

[[kernel]] void fft(device const float* real, device const float* imaginary, device float* y_real,
                    device float* y_imaginary, uint row [[threadgroup_position_in_grid]],
                    uint j [[thread_index_in_threadgroup]]) {
  threadgroup float2 memory[2][COLS];
  threadgroup float2 roots[COLS];
  const ulong first = ulong(row) * COLS;
  float2 v[4];
  for (uint r = 0; r < 4; ++r) {
    const uint at = j + r * QUARTER;
    v[r] = float2(real[first + at], imaginary[first + at]);
    roots[at] = root(at);
  }
  uint turn = 0;
  for (uint step = 1; step < COLS; step *= 4) {
    const uint k = j % step;
    if (step > 1) {
      for (uint r = 0; r < 4; ++r) {
        v[r] = memory[turn][j + r * QUARTER];
      }
      for (uint r = 1; r < 4; ++r) {
        v[r] = times(v[r], roots[r * k * (QUARTER / step)]);
      }
      turn ^= 1;
    }
    const float2 a = v[0] + v[2], b = v[0] - v[2], c = v[1] + v[3], d = v[1] - v[3];
    const float2 e = float2(d.y, -d.x);
    const uint to = j / step * step * 4 + k;
    memory[turn][to] = a + c;
    memory[turn][to + step] = b + e;
    memory[turn][to + 2 * step] = a - c;
    memory[turn][to + 3 * step] = b - e;
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  for (uint r = 0; r < 4; ++r) {
    const uint at = j + r * QUARTER;
    y_real[first + at] = memory[turn][at].x;
    y_imaginary[first + at] = memory[turn][at].y;
  }
}
