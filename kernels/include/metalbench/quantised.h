// Weights of few bits, in rows: codes are one little-endian stream a row, and each group of them
// has a scale. 32 codes are kBits words, whatever kBits is: what a thread reads at once.
//
// A *format* makes weights of codes:
//   kBits, kGroup    of a code; codes with the same scale
//   Stored stored(g) what belongs to group g of the whole matrix, as it lies there
//   Scale scale(g)   the same in registers, as scale(stored) makes it
//   from(g)          is the format of what begins at group g
//   weight(pack, i, scale)  is the weight of the i-th code of a pack, and
//   at(scale, v)     that of a code whose value(code) is v
#pragma once
#include <metal_stdlib>

#include "metalbench/inlined.h"
#include "metalbench/quads.h"

namespace metalbench {

using namespace metal;

constant constexpr uint kPack = 32;  // codes

// 32 codes in registers. Where a code goes from one word into the next is known to the compiler.
template <uint Bits>
struct Pack {
  uint words[Bits];

  Pack() = default;

  // A pack begins at a multiple of its own length, so that whole vectors of words are aligned.
  INLINED explicit Pack(device const uint* from) {
    if (Bits % 4 == 0) {
      UNROLLED
      for (uint i = 0; i < Bits / 4; ++i) {
        const uint4 four = ((device const uint4*)from)[i];
        UNROLLED
        for (uint j = 0; j < 4; ++j) {
          words[(4 * i + j) % Bits] = four[j];
        }
      }
    } else if (Bits % 2 == 0) {
      UNROLLED
      for (uint i = 0; i < Bits / 2; ++i) {
        const uint2 two = ((device const uint2*)from)[i];
        words[2 * i] = two.x;
        words[(2 * i + 1) % Bits] = two.y;
      }
    } else {
      UNROLLED
      for (uint i = 0; i < Bits; ++i) {
        words[i] = from[i];
      }
    }
  }

  INLINED uint code(uint i) const {
    const uint at = i * Bits, shift = at % 32;
    uint bits = words[at / 32] >> shift;
    if (shift + Bits > 32) {
      bits |= words[at / 32 + 1] << (32 - shift);
    }
    return bits & ((1u << Bits) - 1);
  }
};

// Whole numbers: s q + b, made before it is multiplied. A sum of q x that is scaled once a group,
// with b times a sum of x, costs less and cancels: both are large where the codes of zero are far
// from zero.
//
// Below 2^23 the integers are the last bits of a float that is between 2^23 and 2^24, whichever
// power of two they are multiples of: a code need not be moved, where its scale is divided instead.
template <typename T, uint Bits, uint Group>
struct WholeNumbers {
  template <typename Number>
  struct Pair {
    Number s;
    Number b;
  };
  using Stored = Pair<T>;
  using Scale = Pair<float>;
  static constant constexpr uint kBits = Bits;
  static constant constexpr uint kGroup = Group;
  static constant constexpr bool kInPlace = 16 % Bits == 0;
  static constant constexpr uint kMask = (1u << Bits) - 1;
  device const T* scales;
  device const T* biases;

  INLINED static float value(uint code) { return as_type<float>(code | 0x4B000000u) - 0x1p23f; }
  INLINED Stored stored(ulong group) const { return {scales[group], biases[group]}; }
  INLINED static Scale scale(Stored of) { return {float(of.s), float(of.b)}; }
  INLINED Scale scale(ulong group) const { return scale(stored(group)); }
  INLINED WholeNumbers from(ulong group) const { return {scales + group, biases + group}; }
  INLINED static float at(Scale scale, float v) { return fma(scale.s, v, scale.b); }

  INLINED static float weight(thread const Pack<Bits>& pack, uint i, Scale scale) {
    if (!kInPlace) {
      return at(scale, value(pack.code(i)));
    }
    const uint first = i * Bits, left = first % 16;
    const uint code = (pack.words[first / 32] >> (first % 32 - left)) & (kMask << left);
    return fma(scale.s * (1.0f / float(1u << left)), value(code), scale.b);
  }
};

// E2M1: exponent and mantissa are those of a half whose bias is larger by 14; a half has no
// subnormals that a GPU would make zero.
struct E2M1 {
  static constant constexpr uint kBits = 4;
  INLINED static float value(uint code) {
    return float(as_type<half>(ushort((code & 7) << 9 | (code & 8) << 12))) * 16384.0f;
  }
};

// E4M3, the same: the bias is larger by eight.
struct E4M3 {
  static constant constexpr uint kBits = 8;
  INLINED static float value(uint code) {
    return float(as_type<half>(ushort((code & 127) << 7 | (code & 128) << 8))) * 256.0f;
  }
};

// Powers of two. The least of all, which no float has that is not subnormal, is taken for zero.
struct E8M0 {
  INLINED static float value(uint code) { return as_type<float>(code << 23); }
};

template <typename Code, typename Power, uint Group>
struct Minifloat {
  using Stored = uchar;
  using Scale = float;
  static constant constexpr uint kBits = Code::kBits;
  static constant constexpr uint kGroup = Group;
  device const uchar* scales;

  INLINED static float value(uint code) { return Code::value(code); }
  INLINED Stored stored(ulong group) const { return scales[group]; }
  INLINED static Scale scale(Stored of) { return Power::value(of); }
  INLINED Scale scale(ulong group) const { return scale(stored(group)); }
  INLINED Minifloat from(ulong group) const { return {scales + group}; }
  INLINED static float at(Scale scale, float v) { return scale * v; }
  INLINED static float weight(thread const Pack<kBits>& pack, uint i, Scale scale) {
    return scale * value(pack.code(i));
  }
};

using MxFp4 = Minifloat<E2M1, E8M0, 32>;
using MxFp8 = Minifloat<E4M3, E8M0, 32>;
using NvFp4 = Minifloat<E2M1, E4M3, 16>;

// A matrix of such weights; `cols` is whole packs and whole groups.
template <typename Format>
struct Weights {
  static constant constexpr uint kBits = Format::kBits;
  static constant constexpr uint kGroup = Format::kGroup;
  device const uint* words;
  Format format;
  uint cols;
  ulong first = 0;

  INLINED ulong place(ulong row, uint column) const { return (first + row) * cols + column; }

  // The matrix from a row on: one of several that follow each other.
  INLINED Weights from_row(ulong row) const { return {words, format, cols, first + row}; }

  INLINED typename Format::Scale scale(ulong place) const { return format.scale(place / kGroup); }

  // The four weights from a column that is a multiple of four.
  INLINED float4 quad(ulong row, uint column) const {
    const ulong from = place(row, column);
    const ulong bit = from * kBits;
    device const uint* word = words + bit / 32;
    const uint shift = uint(bit % 32);
    uint low = word[0] >> shift;
    if (32 % (4 * kBits) != 0 && shift + 4 * kBits > 32) {
      low |= word[1] << (32 - shift);
    }
    const typename Format::Scale of = scale(from);
    float4 values;
    UNROLLED
    for (uint i = 0; i < 4; ++i) {
      values[i] = Format::at(of, Format::value((low >> (i * kBits)) & ((1u << kBits) - 1)));
    }
    return values;
  }
};

}  // namespace metalbench
