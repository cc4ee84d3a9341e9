// Codes of few bits in registers, and the numbers that they stand for.
//
// A *format* makes weights of codes:
//   kBits, kGroup    of a code; codes with the same scale
//   Stored stored(g) what belongs to group g of the whole matrix, as it is in memory
//   Scale scale(s)   that, in registers
//   from(g)          is the format of what begins at group g
//   at(scale, v)     is the weight of a code whose value(code) is v
// and for sums of products, the i-th code of a run at a time,
//   factor(run, i, scale)  is what a number is multiplied by, if it was
//   less(i, x)       made that before, and
//   sum(scale, products, seen)  what such products are worth, with the sum of the numbers.
// Where kSummedFirst, a factor knows nothing of the scale, which a sum of them is multiplied by.
#pragma once
#include <metal_stdlib>

#include "metalbench/inlined.h"
#include "metalbench/quads.h"

namespace metalbench {

using namespace metal;

constant constexpr uint kRun = 32;  // codes

// 32 codes in registers. Where a code goes from one word into the next is known to the compiler.
template <uint Bits>
struct Run {
  uint words[Bits];

  Run() = default;

  // A run begins at a multiple of its own length, so that whole vectors of words are aligned.
  INLINED explicit Run(device const uint* from) {
    if (Bits % 4 == 0) {
      for (uint i = 0; i < Bits / 4; ++i) {
        const uint4 four = ((device const uint4*)from)[i];
        for (uint j = 0; j < 4; ++j) {
          words[(4 * i + j) % Bits] = four[j];
        }
      }
    } else if (Bits % 2 == 0) {
      for (uint i = 0; i < Bits / 2; ++i) {
        const uint2 two = ((device const uint2*)from)[i];
        words[2 * i] = two.x;
        words[(2 * i + 1) % Bits] = two.y;
      }
    } else {
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

// Whole numbers: s q + b. A sum of q x that is scaled once a group, with b times a sum of x, costs
// less and cancels: both are large where the codes of zero are far from zero. So that is for
// elements of two bytes, which sums in float are far more exact than; else weights are made before
// they are multiplied.
//
// Codes need not be moved to become floats. Below 2^23 the integers are the last bits of a float
// that is between 2^23 and 2^24, whichever power of two they are multiples of. And below 2^10 they
// are a half themselves, a subnormal, which no GPU makes zero: two of them are had at once, with
// nothing to subtract, but half of them want to be eight bits lower. The power of two is undone in
// what they are multiplied with, or in the scale.
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
  static constant constexpr bool kSummedFirst = sizeof(T) == 2;
  static constant constexpr uint kMask = (1u << Bits) - 1;
  static constant constexpr float kStep = kInPlace && kSummedFirst ? 0x1p12f : 1.0f;
  device const T* scales;
  device const T* biases;

  INLINED static float value(uint code) { return as_type<float>(code | 0x4B000000u) - 0x1p23f; }
  INLINED Stored stored(uint group) const { return {scales[group], biases[group]}; }
  INLINED static Scale scale(Stored of) { return {float(of.s), float(of.b)}; }
  INLINED WholeNumbers from(ulong group) const { return {scales + group, biases + group}; }
  INLINED static float at(Scale scale, float v) { return fma(scale.s, v, scale.b); }

  // The i-th code of a run where it lies, times a power of two that undone(i) is the inverse of;
  // but of halves the 2^-24 is undone in two steps, so that nothing that is multiplied becomes
  // infinite.
  INLINED static float undone(uint i) {
    const uint left = kSummedFirst ? i * Bits % 8 : i * Bits % 16;
    return kInPlace ? kStep / float(1u << left) : 1.0f;
  }
  INLINED static float lying(thread const Run<Bits>& run, uint i) {
    const uint first = i * Bits, left = first % 16;
    if (!kInPlace) {
      return value(run.code(i));
    }
    if (kSummedFirst) {
      const uint word = run.words[first / 32] >> (left & 8);
      return as_type<half2>(word & ((kMask | kMask << 16) << left % 8))[first % 32 / 16];
    }
    return value((run.words[first / 32] >> (first % 32 - left)) & (kMask << left));
  }

  INLINED static float less(uint i, float x) { return kSummedFirst ? x * undone(i) : x; }
  INLINED static float factor(thread const Run<Bits>& run, uint i, Scale scale) {
    return kSummedFirst ? lying(run, i) : fma(scale.s * undone(i), lying(run, i), scale.b);
  }
  INLINED static float sum(Scale scale, float products, float seen) {
    return kSummedFirst ? fma(scale.s * kStep, products, scale.b * seen) : products;
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
  static constant constexpr bool kSummedFirst = true;
  device const uchar* scales;

  INLINED static float value(uint code) { return Code::value(code); }
  INLINED Stored stored(uint group) const { return scales[group]; }
  INLINED static Scale scale(Stored of) { return Power::value(of); }
  INLINED Minifloat from(ulong group) const { return {scales + group}; }
  INLINED static float at(Scale scale, float v) { return scale * v; }

  INLINED static float less(uint, float x) { return x; }
  INLINED static float factor(thread const Run<kBits>& run, uint i, Scale) {
    return value(run.code(i));
  }
  INLINED static float sum(Scale scale, float products, float) { return scale * products; }
};

using MxFp4 = Minifloat<E2M1, E8M0, 32>;
using MxFp8 = Minifloat<E4M3, E8M0, 32>;
using NvFp4 = Minifloat<E2M1, E4M3, 16>;

}  // namespace metalbench
