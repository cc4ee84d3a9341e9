// Depthwise convolutions of stride 1, channels last: nothing is summed over channels, so there is
// no matrix in them, and memory bounds them. A thread has four neighbouring channels of one column
// and walks down Rows outputs: their filters stay in registers, and each line of pixels that it
// reads serves all outputs that it is part of, which are kept as running sums. Neighbouring threads
// have neighbouring channels, so all loads are whole cache lines. Filters are (channels, taps).
// Needs `threads_in_grid=(ceil_div(channels, 4) * width of the output, ceil_div(height of the
// output, Rows), batch)`.
#pragma once
#include "metalbench/quads.h"
#include "metalbench/windows.h"

namespace metalbench {

// Y and X are Along of windows.h.
template <uint Rows, typename Y, typename X, typename T>
inline void depthwise(device const T* x, device const T* w, device T* y, uint height, uint width,
                      uint channels, uint3 where) {
  constexpr uint high = Y::kTaps;
  constexpr uint wide = X::kTaps;
  const uint2 to = uint2(X::outputs(width), Y::outputs(height));
  const uint quads = (channels + 3) / 4;
  const uint channel = 4 * (where.x % quads);
  const uint column = where.x / quads;
  const uint first = where.y * Rows;
  float4 filter[high * wide];
  UNROLLED
  for (uint tap = 0; tap < high * wide; ++tap) {
    UNROLLED
    for (uint i = 0; i < 4; ++i) {
      const uint at = (channel + i) * (high * wide) + tap;
      // check: allow registers the filters of four channels stay in registers, down all outputs
      filter[tap][i] = channel + i < channels ? float(w[at]) : 0.0f;
    }
  }
  const uint from_pitch = width * channels;
  const uint to_pitch = to.x * channels;
  device const T* image = x + ulong(where.z * height) * from_pitch;
  device T* out = y + ulong(where.z * to.y + first) * to_pitch + column * channels;

  // sums[j] is of the output that has line r as its j-th.
  float4 sums[high];
  UNROLLED
  for (uint j = 0; j < high; ++j) {
    sums[j] = 0.0f;
  }
  const uint rows = min(Rows, to.y - first);
  for (uint r = 0; r < rows + high - 1; ++r) {
    const int line = int(first + r) - int(Y::kPadding);
    if (Y::kPadding == 0 || uint(line) < height) {
      device const T* from = image + ulong(uint(line)) * from_pitch;
      UNROLLED
      for (uint i = 0; i < wide; ++i) {
        const int pixel = int(column + i) - int(X::kPadding);
        if (X::kPadding == 0 || uint(pixel) < width) {
          const float4 v = load_quad(from + uint(pixel) * channels, channel, channels);
          UNROLLED
          for (uint j = 0; j < high; ++j) {
            sums[j] = fma(v, filter[j * wide + i], sums[j]);
          }
        }
      }
    }
    if (r + 1 >= high) {
      store_quad(out + ulong(r + 1 - high) * to_pitch, channel, channels, sums[high - 1]);
    }
    UNROLLED
    for (uint j = high - 1; j > 0; --j) {
      sums[j] = sums[j - 1];
    }
    sums[0] = 0.0f;
  }
}

}  // namespace metalbench
