// A cache of keys and values of few bits, as split_decode.h walks through it: four weights at a
// time become floats in registers, and are never in memory as such. QuantisedRows are for
// attention.h, in whose tile they become elements.
#pragma once
#include "metalbench/quantised.h"
#include "metalbench/split_decode.h"

namespace metalbench {

// Some keys may be out of sight: `mask`, where it is not null, is false for them.
template <typename Format>
struct QuantisedCache {
  using Four = float4;
  Weights<Format> k;
  Weights<Format> v;
  device const bool* mask = nullptr;

  float4 key(uint i, uint column) const { return quad(k, i, column); }
  float4 value(uint i, uint column) const { return quad(v, i, column); }
  bool seen(uint i) const { return !mask || mask[i]; }

  static float4 quad(Weights<Format> rows, uint i, uint column) {
    return column < rows.cols ? rows.quad(i, column / 4) : float4(0.0f);
  }
};

// The first `rows` of such a cache as attention.h multiplies them: elements of T.
template <typename Format, typename T>
struct QuantisedRows {
  Weights<Format> weights;
  uint rows;
  Quad<T> quad(uint row, uint column) const { return Quad<T>(weights.quad(row, column / 4)); }
};

// Rows of E4M3 with one scale, of a multiple of four elements.
struct Fp8Rows {
  device const uint* words;
  float scale;
  uint dims;

  float4 quad(uint i, uint column) const {
    const uint codes = column < dims ? words[(ulong(i) * dims + column) / 4] : 0;
    const ushort4 of_halves = ushort4(as_type<uchar4>(codes)) << 7;
    // Exponents of halves are larger by eight; a code's sign is where the largest bit of them is.
    const ushort4 bits = (of_halves & ushort(0x3F80)) | (of_halves & ushort(0x4000)) << 1;
    return float4(as_type<half4>(bits)) * (256.0f * scale);
  }
};

// What is not there is zero, as a code too.
struct Fp8Cache {
  using Four = float4;
  Fp8Rows k;
  Fp8Rows v;
  float4 key(uint i, uint column) const { return k.quad(i, column); }
  float4 value(uint i, uint column) const { return v.quad(i, column); }
  bool seen(uint) const { return true; }
};

}  // namespace metalbench
