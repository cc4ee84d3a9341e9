// Fourier transforms of real numbers by transforms of half as many complex ones: numbers 2 k and
// 2 k + 1 are the real and the imaginary part of number k. The spectra of the even and of the odd
// numbers follow from its spectrum by their symmetry, and that of all numbers is
// even + exp(-2 pi i k / N) odd.
#pragma once
#include "metalbench/fourier.h"

namespace metalbench {

inline float2 conjugate(float2 v) { return float2(v.x, -v.y); }

// exp(-2 pi i k / N), from the roots of half as many numbers. k <= N / 2.
template <uint N>
inline float2 root_of_whole(threadgroup const FourierMemory<N / 2>& memory, uint k) {
  constexpr float angle = 6.28318531f / N;
  const float2 root = memory.roots[k / 2];
  // Between two roots, one of N: its angle is so small that the series ends here.
  constexpr float square = angle * angle;
  constexpr float2 step = float2(1.0f - square * (0.5f - square / 24),
                                 -angle * (1.0f - square * (1.0f / 6 - square / 120)));
  return k % 2 == 0 ? root : times(root, step);
}

// Number k of the N / 2 + 1 numbers of the spectrum, from the transform of pairs in buffer `found`.
template <uint N>
inline float2 split_spectrum(threadgroup const FourierMemory<N / 2>& memory, uint found, uint k) {
  const float2 own = memory.rows[found][k % (N / 2)];
  const float2 mirror = conjugate(memory.rows[found][(N / 2 - k) % (N / 2)]);
  const float2 even = own + mirror, odd = turned_back(own - mirror);
  return 0.5f * (even + times(root_of_whole<N>(memory, k), odd));
}

// The conjugate of number k of the transform of pairs, from numbers k and N / 2 - k of the
// spectrum: the transform of these conjugates is N / 2 times the conjugates of the pairs.
template <uint N>
inline float2 join_spectrum(threadgroup const FourierMemory<N / 2>& memory, float2 own,
                            float2 other, uint k) {
  const float2 mirror = conjugate(other);
  const float2 odd = times(conjugate(root_of_whole<N>(memory, k)), own - mirror);
  return 0.5f * conjugate(own + mirror + float2(-odd.y, odd.x));
}

}  // namespace metalbench
