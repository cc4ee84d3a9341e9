// A cache of keys and values of few bits, as split_decode.h walks through it: four weights at a
// time become floats in registers, and are never in memory as such.
#pragma once
#include "metalbench/quantised.h"
#include "metalbench/split_decode.h"

namespace metalbench {

// Some keys may be out of sight: `mask`, where it is not null, is false for them.
template <typename Format>
struct QuantisedCache {
  Weights<Format> k;
  Weights<Format> v;
  device const bool* mask = nullptr;

  float4 key(uint i, uint column) const { return quad(k, i, column); }
  float4 value(uint i, uint column) const { return quad(v, i, column); }
  bool seen(uint i) const { return !mask || mask[i]; }

  static float4 quad(Weights<Format> rows, uint i, uint column) {
    return column < rows.cols ? rows.quad(i, column) : float4(0.0f);
  }
};

}  // namespace metalbench
