// Weights of few bits, in rows: codes are one little-endian stream a row, and each group of them
// has a scale. 32 codes are kBits words, whatever kBits is: what a thread reads at once.
//
// A *format* makes values of codes:
//   kBits, kGroup    of a code; codes with the same scale
//   value(code)      a code as it is, in float
//   Scale scale(g)   what belongs to group g of the whole matrix: of it
//   at(scale, v)     is the weight whose code is v, and
//   sum(scale, vx, x) what a sum of products v x and a sum of x come to
#pragma once
#include <metal_stdlib>

#include "metalbench/inlined.h"
#include "metalbench/quads.h"

namespace metalbench {

using namespace metal;

constant constexpr uint kRun = 32;  // codes

// Whole numbers: s q + b. With b the sum of x is wanted, once a group, and nothing for each code.
// Codes are counted from the middle one: b is about -s times that, and what would cancel in sums of
// hundreds of products cancels once, in the scale.
template <typename T, uint Bits, uint Group>
struct WholeNumbers {
  struct Scale {
    float s;
    float b;
  };
  static constant constexpr uint kBits = Bits;
  static constant constexpr uint kGroup = Group;
  static constant constexpr int kMiddle = 1 << (Bits - 1);
  device const T* scales;
  device const T* biases;

  INLINED static float value(uint code) { return float(int(code) - kMiddle); }
  INLINED Scale scale(ulong group) const {
    const float s = float(scales[group]);
    return {s, fma(s, float(kMiddle), float(biases[group]))};
  }
  INLINED static float at(Scale scale, float v) { return fma(scale.s, v, scale.b); }
  INLINED static float sum(Scale scale, float vx, float x) { return fma(scale.s, vx, scale.b * x); }
};

// E2M1: exponent and mantissa are those of a half whose bias is larger by 14; a half has no
// subnormals that a GPU would make zero.
struct E2M1 {
  static constant constexpr uint kBits = 4;
  INLINED static float value(uint code) {
    const float magnitude = float(as_type<half>(ushort((code & 7) << 9))) * 16384.0f;
    return code & 8 ? -magnitude : magnitude;
  }
};

// E4M3, the same: the bias is larger by eight.
struct E4M3 {
  static constant constexpr uint kBits = 8;
  INLINED static float value(uint code) {
    const float magnitude = float(as_type<half>(ushort((code & 127) << 7))) * 256.0f;
    return code & 128 ? -magnitude : magnitude;
  }
};

// Powers of two. The least of all, which no float has that is not subnormal, is taken for zero.
struct E8M0 {
  INLINED static float value(uint code) { return as_type<float>(code << 23); }
};

template <typename Code, typename Power, uint Group>
struct Minifloat {
  using Scale = float;
  static constant constexpr uint kBits = Code::kBits;
  static constant constexpr uint kGroup = Group;
  device const uchar* scales;

  INLINED static float value(uint code) { return Code::value(code); }
  INLINED Scale scale(ulong group) const { return Power::value(scales[group]); }
  INLINED static float at(Scale scale, float v) { return scale * v; }
  INLINED static float sum(Scale scale, float vx, float) { return scale * vx; }
};

using MxFp4 = Minifloat<E2M1, E8M0, 32>;
using MxFp8 = Minifloat<E4M3, E8M0, 32>;
using NvFp4 = Minifloat<E2M1, E4M3, 16>;

// 32 codes in registers. Where a code goes from one word into the next is known to the compiler.
template <uint Bits>
struct Run {
  uint words[Bits];

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

// A matrix of such weights; `cols` is whole runs and whole groups.
template <typename Format>
struct Weights {
  static constant constexpr uint kBits = Format::kBits;
  static constant constexpr uint kGroup = Format::kGroup;
  // Parts of a run, each of one group.
  static constant constexpr uint kPart = kGroup < kRun ? kGroup : kRun;
  device const uint* words;
  Format format;
  uint cols;
  ulong first = 0;

  INLINED ulong place(ulong row, uint column) const { return (first + row) * cols + column; }

  // The matrix from a row on: one of several that follow each other.
  INLINED Weights from_row(ulong row) const { return {words, format, cols, first + row}; }

  INLINED typename Format::Scale scale(ulong place) const { return format.scale(place / kGroup); }

  // What a run of a row gives with 32 elements of x, of which `totals` are the sums by parts.
  INLINED float product(ulong place, thread const float* x, thread const float* totals) const {
    const Run<kBits> run(words + place / kRun * kBits);
    float sum = 0.0f;
    for (uint part = 0; part < kRun / kPart; ++part) {
      float products = 0.0f;
      for (uint i = part * kPart; i < (part + 1) * kPart; ++i) {
        products = fma(Format::value(run.code(i)), x[i], products);
      }
      sum += Format::sum(scale(place + part * kPart), products, totals[part]);
    }
    return sum;
  }

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
    for (uint i = 0; i < 4; ++i) {
      values[i] = Format::at(of, Format::value((low >> (i * kBits)) & ((1u << kBits) - 1)));
    }
    return values;
  }
};

}  // namespace metalbench
