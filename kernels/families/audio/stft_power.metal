// Power spectra of a sound. A threadgroup takes PAIRS pairs of frames: two frames of real samples
// are transformed as one complex row in threadgroup memory (metalbench/sound.h), so that
// overlapping samples come from the cache and only powers leave.
// dispatch: stft_power  threadgroups=(ceil_div(frames, 2 * PAIRS))  threads=(TG)
// tune: PAIRS = 4, 1, 8
// tune: TG = 128, 64, 256
// dtypes: float32
#include "metalbench/sound.h"
using namespace metal;
using namespace metalbench;

constant constexpr uint LENGTH = 400;
constant constexpr uint BINS = LENGTH / 2 + 1;

[[kernel]] void stft_power(device const float* x, device const float* window, device float* y,
                           constant uint& frames, uint group [[threadgroup_position_in_grid]],
                           uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup FourierMemory<LENGTH> memory;
  make_roots<LENGTH, TG>(memory, thread_index);
  const uint end = min(frames, (group + 1) * 2 * PAIRS);
  for (uint first = group * 2 * PAIRS; first < end; first += 2) {
    load_frames<LENGTH, 160, TG>(x, window, first, frames, memory, thread_index);
    const uint last = transform<LENGTH, TG>(memory, thread_index);
    for (uint k = thread_index; k < BINS; k += TG) {
      const float2 found = powers<LENGTH>(memory.rows[last], k);
      y[ulong(first) * BINS + k] = found.x;
      if (first + 1 < frames) {
        y[ulong(first + 1) * BINS + k] = found.y;
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
}
