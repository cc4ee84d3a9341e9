// Weights of few bits, in rows: codes are one little-endian stream a row, and each group of them
// has a scale. 32 codes are kBits words, whatever kBits is: what a thread reads at once.
//
// A *format* makes weights of codes:
//   kBits, kGroup    of a code; codes with the same scale
//   Stored stored(g) what belongs to group g of the whole matrix, as it lies there
//   Scale scale(g)   the same in registers, as scale(stored) makes it
//   from(g)          is the format of what begins at group g
//   at(scale, v)     is the weight of a code whose value(code) is v
//   weights(pack, i, scale)  are those of the codes i .. i + 3 of a pack
// A product with a vector scales the sum of a group, not each weight:
//   factors(pack, i)  are numbers for the codes i .. i + 3 of a pack
//   kCodes           of a row that a lane holds at once
//   kPair            codes from them to the four that become numbers by the same instructions; 0 if
//                    none do
//   operands(i, x)   what they are multiplied by, of four elements of the vector
//   add(sum, scale, products, seen)  adds what a group gives: sums of such products, and the sum of
//                    its elements of the vector
//   Sums             of products: code i is in sum i % 2 or i % 4
#pragma once
#include <metal_stdlib>

#include "metalbench/inlined.h"
#include "metalbench/quads.h"

namespace metalbench {

using namespace metal;

constant constexpr uint kPack = 32;  // codes

// Codes in registers: a pack, or half of one. Where a code goes from one word into the next is
// known to the compiler.
template <uint Bits, uint Codes = kPack>
struct Pack {
  static constant constexpr uint kWords = (Codes * Bits + 31) / 32;
  uint words[kWords];

  Pack() = default;

  // It begins at a multiple of its own length, so that whole vectors of words are aligned.
  INLINED explicit Pack(device const uint* from) {
    if (kWords % 4 == 0) {
      UNROLLED
      for (uint i = 0; i < kWords / 4; ++i) {
        const uint4 four = ((device const uint4*)from)[i];
        UNROLLED
        for (uint j = 0; j < 4; ++j) {
          words[(4 * i + j) % kWords] = four[j];
        }
      }
    } else if (kWords % 2 == 0) {
      UNROLLED
      for (uint i = 0; i < kWords / 2; ++i) {
        const uint2 two = ((device const uint2*)from)[i];
        words[2 * i] = two.x;
        words[(2 * i + 1) % kWords] = two.y;
      }
    } else {
      UNROLLED
      for (uint i = 0; i < kWords; ++i) {
        words[i] = from[i];  // check: allow registers 5 bits are 20 words of 4 rows: 53 in float32
      }
    }
  }

  // It begins at bit `shift` of a word and has up to 64 bits from that word on. Only words with its
  // codes are read.
  INLINED Pack(device const uint* from, uint shift) {
    words[0] = from[0] >> shift;
    if (kWords > 1 || shift + Codes * Bits > 32) {
      const uint next = from[1];
      words[0] |= next << 1 << (31 - shift);  // a shift by 32 is not defined
      words[kWords - 1] = kWords > 1 ? next >> shift : words[0];
    }
  }

  // The codes from i on, where `Count` of them have 32 bits at most: those after them may be cut.
  template <uint Count>
  INLINED uint codes(uint i) const {
    const uint at = i * Bits, shift = at % 32;
    uint bits = words[at / 32] >> shift;
    if (shift + Count * Bits > 32) {
      bits |= words[at / 32 + 1] << (32 - shift);
    }
    return bits;
  }
  INLINED uint code(uint i) const { return codes<1>(i) & ((1u << Bits) - 1); }
};

// The codes of a row that a lane holds while it multiplies several rows, so that their words are
// few.
constexpr uint codes_at_once(uint bits) { return bits > 5 ? kPack / 2 : kPack; }

// Adds the products of four numbers to four sums, or to two.
INLINED void add_products(thread float4& sums, float4 a, float4 b) { sums = fma(a, b, sums); }
INLINED void add_products(thread float2& sums, float4 a, float4 b) {
  sums = fma(a.zw, b.zw, fma(a.xy, b.xy, sums));
}

INLINED float total(float2 v) { return v.x + v.y; }

// One of the two halves that a word is. A GPU takes halves as operands of float arithmetic.
INLINED half half_of(uint word, uint i) { return as_type<half2>(word)[i]; }

// Whole numbers: s q + b. Where codes become factors of a sum, they are not moved to the end of a
// word. A code that lies `left` bits up is 2^left times as large, which is undone in what it is
// multiplied by, or in the sum.
//
// As `Halves` two codes of a word become numbers by one mask: bits in the fraction of a half are a
// subnormal number, a multiple of 2^-24, which no GPU makes zero. Only products with elements below
// 2^-102 become zero. Else codes become floats one by one, which is faster where halves are
// converted by instructions: the integers below 2^23 are the last bits of the floats from 2^23 on.
template <typename T, uint Bits, uint Group, bool Halves = true>
struct WholeNumbers {
  template <typename Number>
  struct Pair {
    Number s;
    Number b;
  };
  using Stored = Pair<conditional_t<Halves, T, float>>;
  using Scale = Pair<float>;
  static constant constexpr uint kBits = Bits;
  static constant constexpr uint kGroup = Group;
  static constant constexpr uint kCodes = Halves ? codes_at_once(Bits) : kPack;
  static constant constexpr uint kMask = (1u << Bits) - 1;
  // Whether the codes of all quads lie alike, that many bits apart at most.
  static constant constexpr bool kIsAligned = 8 % Bits == 0;
  static constant constexpr uint kReach = Halves || Bits == 2 ? 8 : 16;
  static constant constexpr uint kSums = Halves || !kIsAligned ? 2 : 4;
  using Sums = vec<float, kSums>;
  static constant constexpr uint kPair = Halves && kIsAligned && Bits < 8 ? 16 / Bits : 0;
  // Others are within the 10 bits of a fraction, or moved.
  static constant constexpr uint kPlaces = 11 - Bits;
  static constant constexpr float kUnit = Halves ? 0x1p24f : 1.0f;
  // Sums of codes from 0 on are large, and cancel with the bias's part. So floats are multiplied by
  // differences from the code in the middle; sums of shorter elements are exact enough.
  static constant constexpr bool kIsCentred = !Halves || sizeof(T) == 4;
  static constant constexpr uint kMiddle = kIsCentred ? 1u << (Bits - 1) : 0;
  device const T* scales;
  device const T* biases;

  INLINED static float value(uint code) { return as_type<float>(code | 0x4B000000u) - 0x1p23f; }
  INLINED Stored stored(uint group) const {
    using Number = decltype(Stored::s);
    return {Number(scales[group]), Number(biases[group])};
  }
  INLINED static Scale scale(Stored of) { return {float(of.s), float(of.b)}; }
  INLINED Scale scale(uint group) const { return scale(stored(group)); }
  INLINED WholeNumbers from(ulong group) const { return {scales + group, biases + group}; }
  INLINED static float at(Scale scale, float v) { return fma(scale.s, v, scale.b); }

  // How many bits up the i-th code of a pack becomes a number.
  INLINED static constexpr uint left(uint i) {
    return kIsAligned ? i * Bits % kReach
                      : (Halves && i * Bits % 32 + Bits <= 32 ? i * Bits % 16 % kPlaces : 0);
  }
  // The number that bits are, in the half `n` of a word or in all of it, minus the middle.
  INLINED static float number(uint bits, uint n, uint left) {
    const float middle = float(kMiddle << left);
    return Halves ? float(half_of(bits, n)) - middle / kUnit
                  : as_type<float>(bits | 0x4B000000u) - (0x1p23f + middle);
  }
  template <uint Codes>
  INLINED static float factor(thread const Pack<Bits, Codes>& pack, uint i) {
    const uint at = i * Bits % 32, mask = kMask << left(i);
    if (at + Bits > 32) {
      return number(pack.code(i), 0, 0);
    }
    const uint word = pack.words[i * Bits / 32];
    return Halves ? number(word >> (at % 16 - left(i)) & (mask | mask << 16), at / 16, left(i))
                  : number(word >> (at - left(i)) & mask, 0, left(i));
  }
  template <uint Codes>
  INLINED static float4 factors(thread const Pack<Bits, Codes>& pack, uint i) {
    if (!Halves && !kIsAligned) {
      // A loop that is not unrolled tests once, not for each code, whether codes are in two words.
      const uint four = pack.template codes<4>(i);
      return float4(number(four & kMask, 0, 0), number(four >> Bits & kMask, 0, 0),
                    number(four >> 2 * Bits & kMask, 0, 0), number(four >> 3 * Bits & kMask, 0, 0));
    }
    return float4(factor(pack, i), factor(pack, i + 1), factor(pack, i + 2), factor(pack, i + 3));
  }
  // Halves that are not centred are multiples of the weights' steps. A scale is below 2^104: steps
  // are up to 2^24 times as large.
  template <uint Codes>
  INLINED static float4 weights(thread const Pack<Bits, Codes>& pack, uint i, Scale scale) {
    if (Halves && !kIsCentred) {
      const float4 steps = scale.s * kUnit * float4(back(i), back(i + 1), back(i + 2), back(i + 3));
      return fma(steps, factors(pack, i), scale.b);
    }
    return float4(at(scale, value(pack.code(i))), at(scale, value(pack.code(i + 1))),
                  at(scale, value(pack.code(i + 2))), at(scale, value(pack.code(i + 3))));
  }
  INLINED static constexpr float back(uint i) { return 1.0f / float(1u << left(i)); }
  // The part of it that a sum has in common is left to the sum.
  INLINED static constexpr float power(uint i) {
    return kIsAligned ? back(i) / back(i % kSums) : back(i);
  }
  INLINED static float4 operands(uint i, float4 x) {
    return x * float4(power(i), power(i + 1), power(i + 2), power(i + 3));
  }
  INLINED static void add(thread float& sum, Scale scale, Sums products, float seen) {
    Sums units = kUnit;
    UNROLLED
    for (uint i = 0; i < kSums && kIsAligned; ++i) {
      units[i] *= back(i);
    }
    const float bias = kIsCentred ? fma(scale.s, float(kMiddle), scale.b) : scale.b;
    sum = fma(scale.s, dot(products, units), fma(bias, seen, sum));
  }
};

// E2M1: exponent and mantissa are those of a half whose bias is larger by 14; a half has no
// subnormals that a GPU would make zero.
struct E2M1 {
  static constant constexpr uint kBits = 4;
  static constant constexpr uint kPair = 4;
  static constant constexpr float kUnit = 0x1p14f;
  INLINED static float value(uint code) {
    return float(as_type<half>(ushort((code & 7) << 9 | (code & 8) << 12))) * kUnit;
  }
  // Of codes i .. i + 3 divided by the unit. In the upper bits of bytes, signs are where halves
  // have them, and the others three bits too far up.
  template <uint Codes>
  INLINED static float4 factors(thread const Pack<4, Codes>& pack, uint i) {
    const uint word = pack.words[i / 8], n = i / 4 % 2;
    const uint even = bytes(word << 4), odd = bytes(word);
    return float4(half_of(upper(even << 8), n), half_of(upper(odd << 8), n),
                  half_of(upper(even), n), half_of(upper(odd), n));
  }
  INLINED static uint bytes(uint codes) { return (codes & 0x80808080) | (codes >> 3 & 0x0E0E0E0E); }
  INLINED static uint upper(uint word) { return word & 0xFF00FF00; }
};

// E4M3, the same: the bias is larger by eight.
struct E4M3 {
  static constant constexpr uint kBits = 8;
  static constant constexpr uint kPair = 0;
  static constant constexpr float kUnit = 0x1p8f;
  INLINED static float value(uint code) {
    return float(as_type<half>(ushort((code & 127) << 7 | (code & 128) << 8))) * kUnit;
  }
  template <uint Codes>
  INLINED static float4 factors(thread const Pack<8, Codes>& pack, uint i) {
    const uint even = upper(pack.words[i / 4] << 8), odd = upper(pack.words[i / 4]);
    return float4(half_of(even, 0), half_of(odd, 0), half_of(even, 1), half_of(odd, 1));
  }
  INLINED static uint upper(uint codes) { return (codes & 0x80008000) | (codes >> 1 & 0x3F803F80); }
};

// Powers of two. The least of all, which no float has that is not subnormal, is taken for zero.
struct E8M0 {
  INLINED static float value(uint code) { return as_type<float>(code << 23); }
};

template <typename Code, typename Power, uint Group>
struct Minifloat {
  using Stored = uchar;
  using Scale = float;
  using Sums = float2;
  static constant constexpr uint kBits = Code::kBits;
  static constant constexpr uint kPair = Code::kPair;
  static constant constexpr uint kGroup = Group;
  static constant constexpr uint kCodes = codes_at_once(kBits);
  device const uchar* scales;

  INLINED static float value(uint code) { return Code::value(code); }
  INLINED Stored stored(uint group) const { return scales[group]; }
  INLINED static Scale scale(Stored of) { return Power::value(of); }
  INLINED Scale scale(uint group) const { return scale(stored(group)); }
  INLINED Minifloat from(ulong group) const { return {scales + group}; }
  INLINED static float at(Scale scale, float v) { return scale * v; }

  template <uint Codes>
  INLINED static float4 factors(thread const Pack<kBits, Codes>& pack, uint i) {
    return Code::factors(pack, i);
  }
  template <uint Codes>
  INLINED static float4 weights(thread const Pack<kBits, Codes>& pack, uint i, Scale scale) {
    return scale * (factors(pack, i) * Code::kUnit);
  }
  INLINED static float4 operands(uint, float4 x) { return x; }
  INLINED static void add(thread float& sum, Scale scale, float2 products, float) {
    sum = fma(scale, total(products) * Code::kUnit, sum);
  }
};

using MxFp4 = Minifloat<E2M1, E8M0, 32>;
using MxFp8 = Minifloat<E4M3, E8M0, 32>;
using NvFp4 = Minifloat<E2M1, E4M3, 16>;

// The one of them with codes of that many bits and groups of that many codes.
template <uint Bits, uint Group>
using SmallFloats =
    Minifloat<conditional_t<Bits == 8, E4M3, E2M1>, conditional_t<Group == 16, E4M3, E8M0>, Group>;

// A matrix of such weights; `cols` is whole packs and whole groups. Offsets have 32 bits, which
// GPUs add to an address while they load: kernels that read quads have a limit for their number.
template <typename Format>
struct Weights {
  static constant constexpr uint kBits = Format::kBits;
  static constant constexpr uint kGroup = Format::kGroup;
  device const uint* words;
  Format format;
  uint cols;

  // The word that a column begins in, a multiple of half a pack, and the group that it is in.
  INLINED uint word(uint row, uint column) const {
    return row * (cols / kPack * kBits) + column / (kPack / 2) * kBits / 2;
  }
  INLINED uint group(uint row, uint column) const {
    return row * (cols / kGroup) + column / kGroup;
  }

  // The matrix from a row on: one of several that follow each other.
  INLINED Weights from_row(ulong row) const {
    return {words + row * (cols / kPack * kBits), format.from(row * (cols / kGroup)), cols};
  }

  // The i-th four weights of a row. Where a word has whole quads, the quad's number in the matrix
  // gives its word and its group: one product with the row and one register.
  INLINED float4 quad(uint row, uint i) const {
    constexpr bool whole = 8 % kBits == 0;
    const uint at = row * (cols / 4) + i;
    const uint bit = (whole ? at : i) * (4 * kBits), shift = bit % 32;
    device const uint* from = words + (whole ? at / (8 / kBits) : word(row, 0) + bit / 32);
    uint low = from[0] >> shift;
    if (32 % (4 * kBits) != 0 && shift + 4 * kBits > 32) {
      low |= from[1] << (32 - shift);
    }
    const typename Format::Scale scale = format.scale(at / (kGroup / 4));
    float4 values;
    UNROLLED
    for (uint j = 0; j < 4; ++j) {
      values[j] = Format::at(scale, Format::value((low >> (j * kBits)) & ((1u << kBits) - 1)));
    }
    return values;
  }

  // Count quads beside each other, from a column that is a multiple of as many elements, of which
  // a row has a whole number: they have one scale.
  template <uint Count, typename As>
  INLINED void quads(thread Quad<As>* to, uint row, uint column) const {
    constexpr uint codes = 4 * Count, bits = codes * kBits;
    const uint at = row * (cols / codes) + column / codes;
    const typename Format::Scale scale = format.scale(at / (kGroup / codes));
    Pack<kBits, codes> pack;
    if (bits % 32 == 0) {
      pack = Pack<kBits, codes>(words + at * (bits / 32));
    } else {
      const uint bit = column / codes * bits;
      pack = Pack<kBits, codes>(words + (word(row, 0) + bit / 32), bit % 32);
    }
    UNROLLED
    for (uint i = 0; i < Count; ++i) {
      to[i] = Quad<As>(Format::weights(pack, 4 * i, scale));
    }
  }

  // Eight weights of a row, with one scale (few_rows.h).
  static constant constexpr uint kPiece = 8;
  struct Piece {
    Pack<kBits, 8> pack;
    typename Format::Scale scale;

    INLINED float4 quad(uint q) const { return Format::weights(pack, 4 * q, scale); }
  };
  INLINED Piece piece(uint row, uint i) const {
    const uint at = row * (cols / 8) + i;
    return {Pack<kBits, 8>(words + at * (kBits / 4)), format.scale(at / (kGroup / 8))};
  }
  INLINED static uint column(uint i, uint) { return 8 * i; }
};

}  // namespace metalbench
