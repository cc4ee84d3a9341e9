// Spectra of sound: two frames of real samples as one complex row, whose transform separates them
// by its symmetry: half the work of two transforms.
#pragma once
#include "metalbench/fourier.h"

namespace metalbench {

// Puts frames `first` and the next one, of `frames`, into memory, times the window.
template <uint Length, uint Hop, uint Threads>
inline void load_frames(device const float* x, device const float* window, uint first, uint frames,
                        threadgroup FourierMemory<Length>& memory, uint thread_index) {
  device const float* from = x + ulong(first) * Hop;
  for (uint i = thread_index; i < Length; i += Threads) {
    const float second = first + 1 < frames ? from[Hop + i] : 0.0f;
    memory.rows[0][i] = window[i] * float2(from[i], second);
  }
}

// The powers of both frames at frequency k.
template <uint Length>
inline float2 powers(threadgroup const float2 (&spectrum)[Length], uint k) {
  const float2 z = spectrum[k], mirror = spectrum[(Length - k) % Length];
  const float2 conjugate = float2(mirror.x, -mirror.y);
  const float2 sum = 0.5f * (z + conjugate), difference = 0.5f * (z - conjugate);
  return float2(dot(sum, sum), dot(difference, difference));
}

}  // namespace metalbench
