// From samples to log-mel bands in one kernel: spectra of two frames at a time stay in threadgroup
// memory (metalbench/sound.h), their powers take the place of what the transform no longer needs,
// and each thread sums a band of both frames, for which it reads the band's filters once.
// dispatch: log_mel  threadgroups=(ceil_div(frames, 2 * PAIRS))  threads=(TG)
// tune: PAIRS = 4, 1, 8
// tune: TG = 128, 64, 256
// dtypes: float32
#include "metalbench/sound.h"
using namespace metal;
using namespace metalbench;

constant constexpr uint LENGTH = 400;
constant constexpr uint BINS = LENGTH / 2 + 1;

[[kernel]] void log_mel(device const float* x, device const float* window,
                        device const float* filters, device float* y, constant uint& frames,
                        constant uint& bands, constant float& eps,
                        uint group [[threadgroup_position_in_grid]],
                        uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup FourierMemory<LENGTH> memory;
  make_roots<LENGTH, TG>(memory, thread_index);
  const uint end = min(frames, (group + 1) * 2 * PAIRS);
  for (uint first = group * 2 * PAIRS; first < end; first += 2) {
    load_frames<LENGTH, 160, TG>(x, window, first, frames, memory, thread_index);
    const uint last = transform<LENGTH, TG>(memory, thread_index);
    for (uint k = thread_index; k < BINS; k += TG) {
      memory.rows[1 - last][k] = powers<LENGTH>(memory.rows[last], k);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint band = thread_index; band < bands; band += TG) {
      float2 sum = 0.0f;
      for (uint k = 0; k < BINS; ++k) {
        sum = fma(filters[k * bands + band], memory.rows[1 - last][k], sum);
      }
      y[ulong(first) * bands + band] = precise::log(sum.x + eps);
      if (first + 1 < frames) {
        y[ulong(first + 1) * bands + band] = precise::log(sum.y + eps);
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
}
