// A matrix of weights of few bits times a vector. A SIMD-group makes ROWS rows: a lane reads 32
// elements of x, which serve ROWS rows before they leave its registers, and as many codes of every
// row, kBits words side by side. The weights are read once, and bound the speed.
#pragma once
#include "metalbench/quantised.h"

namespace metalbench {

template <uint Rows, typename Format, typename T>
INLINED void quantised_matvec(Weights<Format> weights, device const T* x, device T* y, uint rows,
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
        const float4 quad = quad_at(x + column, i / 4);
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
  for (uint r = 0; r < Rows; ++r) {
    const float sum = simd_sum(sums[r]);
    if (lane == 0 && first + r < rows) {
      y[first + r] = T(sum);
    }
  }
}

}  // namespace metalbench
