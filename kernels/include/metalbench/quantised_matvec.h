// A matrix of weights of few bits times a vector. A SIMD-group makes ROWS rows: a lane reads 32
// elements of x, which serve ROWS rows before they leave its registers, and as many codes of every
// row, kBits words side by side. The weights are read once, and bound the speed.
#pragma once
#include "metalbench/quantised.h"

namespace metalbench {

// What is multiplied: quads of elements, and a factor of all sums once all have been seen.
template <typename T>
struct PlainVector {
  device const T* x;

  INLINED float4 quad(uint column) { return quad_at(x, column / 4); }
  INLINED float factor() const { return 1.0f; }
};

// Divided by its root mean square, times a gain.
template <typename T>
struct NormedVector {
  device const T* x;
  device const T* gain;
  uint cols;
  float eps;
  float squares = 0.0f;

  INLINED float4 quad(uint column) {
    const float4 v = quad_at(x, column / 4);
    squares += dot(v, v);
    return v * quad_at(gain, column / 4);
  }
  INLINED float factor() const { return precise::rsqrt(simd_sum(squares) / float(cols) + eps); }
};

template <uint Rows, typename Format, typename Vector, typename T>
INLINED void quantised_matvec(Weights<Format> weights, Vector vector, device T* y, uint rows,
                              uint first, uint lane) {
  using W = Weights<Format>;
  constexpr uint parts = kRun / W::kPart;
  const uint cols = weights.cols;
  float sums[Rows];
  for (uint r = 0; r < Rows; ++r) {
    sums[r] = 0.0f;
  }
  for (uint column = kRun * lane; column < cols; column += kRun * 32) {
    float v[kRun];
    float totals[parts];
    for (uint part = 0; part < parts; ++part) {
      float4 total4 = 0.0f;
      for (uint i = part * W::kPart; i < (part + 1) * W::kPart; i += 4) {
        const float4 quad = vector.quad(column + i);
        for (uint j = 0; j < 4; ++j) {
          v[i + j] = quad[j];
        }
        total4 += quad;
      }
      totals[part] = total(total4);
    }
    // Rows past the last one repeat it, so that the loop needs no test; they are not stored.
    for (uint r = 0; r < Rows; ++r) {
      sums[r] += weights.product(weights.place(min(first + r, rows - 1), column), v, totals);
    }
  }
  const float factor = vector.factor();
  for (uint r = 0; r < Rows; ++r) {
    const float sum = simd_sum(sums[r]) * factor;
    if (lane == 0 && first + r < rows) {
      y[first + r] = T(sum);
    }
  }
}

}  // namespace metalbench
