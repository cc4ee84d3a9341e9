// Weights in blocks of GGUF files: q4_0 (type 2), q4_1 (3), q5_0 (6), q5_1 (7), q8_0 (8), q2_k
// (10), q3_k (11), q4_k (12), q5_k (13), q6_k (14), iq4_nl (20), iq4_xs (23). A row is a sequence
// of blocks of kCodes weights and kBytes bytes, which have the codes, their scales and, in some
// formats, their least values. Layouts are those of the GGUF specification.
//
// Bytes of a block have codes of weights that are kApart apart. So a thread loads the codes of
// eight weights from a column on, and of the eight weights that are kApart behind them:
//   load(block, c)     their codes as they are stored; c % (2 * kApart) < kApart, c % 8 == 0
//   codes(loaded, q)   those of quad q of these 16, one in each byte; quads 2 and 3 are the second
//                      eight
//   values(codes)      numbers
//   scale(block, c, h) what the first eight (h = 0) or the second are: s times the number, plus b
#pragma once
#include <metal_stdlib>

#include "metalbench/inlined.h"
#include "metalbench/quads.h"
#include "metalbench/quantised.h"

namespace metalbench {

using namespace metal;

struct ScaleOfBlock {
  float s;
  float b;
};

INLINED float half_at(device const uchar* bytes) { return float(*(device const half*)bytes); }

INLINED uint word_of(uint2 words, uint i) { return i ? words.y : words.x; }

// Eight bytes from an even address on.
INLINED uint2 eight_bytes(device const uchar* from) {
  device const packed_ushort2* pairs = (device const packed_ushort2*)from;
  return uint2(as_type<uint>(ushort2(pairs[0])), as_type<uint>(ushort2(pairs[1])));
}

// Four bits as the lowest bits of four bytes.
INLINED uint four_bytes(uint bits) { return ((bits & 15) * 0x00204081) & 0x01010101; }

template <uint Type>
struct Block;

// Whole numbers of four or five bits and a half as their scale: from another half on, or less half
// of their range.
template <uint Bits, bool HasLeast>
struct ShortBlock {
  static constant constexpr uint kCodes = 32;
  static constant constexpr uint kTops = HasLeast ? 4 : 2;  // bytes before the fifth bits
  static constant constexpr uint kFours = kTops + (Bits == 5 ? 4 : 0);
  static constant constexpr uint kBytes = kFours + 16;
  static constant constexpr uint kApart = 16;
  struct Loaded {
    uint2 fours;
    uint tops;  // bits 0 to 7 and 16 to 23: of both eights
  };

  INLINED static Loaded load(device const uchar* block, uint c) {
    device const packed_ushort2* tops = (device const packed_ushort2*)(block + kTops);
    return {eight_bytes(block + kFours + c), Bits == 5 ? as_type<uint>(ushort2(*tops)) >> c : 0};
  }
  INLINED static uint codes(Loaded from, uint q) {
    const uint fours = word_of(from.fours, q % 2) >> (q / 2 * 4) & 0x0F0F0F0F;
    return Bits == 5 ? fours | four_bytes(from.tops >> (q / 2 * 16 + q % 2 * 4)) << 4 : fours;
  }
  INLINED static float4 values(uint codes) { return float4(as_type<uchar4>(codes)); }
  INLINED static ScaleOfBlock scale(device const uchar* block, uint, uint) {
    const float s = half_at(block);
    return {s, HasLeast ? half_at(block + 2) : s * -float(1 << (Bits - 1))};
  }
};
template <>
struct Block<2> : ShortBlock<4, false> {};
template <>
struct Block<3> : ShortBlock<4, true> {};
template <>
struct Block<6> : ShortBlock<5, false> {};
template <>
struct Block<7> : ShortBlock<5, true> {};

// Whole numbers of eight bits and a half as their scale.
template <>
struct Block<8> {
  static constant constexpr uint kCodes = 32;
  static constant constexpr uint kBytes = 34;
  static constant constexpr uint kApart = 16;
  struct Loaded {
    uint2 eights[2];
  };

  INLINED static Loaded load(device const uchar* block, uint c) {
    return {{eight_bytes(block + 2 + c), eight_bytes(block + 18 + c)}};
  }
  INLINED static uint codes(Loaded from, uint q) {
    return word_of(q / 2 ? from.eights[1] : from.eights[0], q % 2);
  }
  INLINED static float4 values(uint codes) { return float4(as_type<char4>(codes)); }
  INLINED static ScaleOfBlock scale(device const uchar* block, uint, uint) {
    return {half_at(block), 0.0f};
  }
};

// Four bits that choose one of 16 numbers, and a half as their scale.
constant constexpr float kNumbers[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                         1,    13,   25,  38,  53,  69,  89,  113};

struct BlockOfNumbers {
  static constant constexpr uint kApart = 16;
  using Loaded = uint2;

  INLINED static uint codes(Loaded from, uint q) {
    return word_of(from, q % 2) >> (q / 2 * 4) & 0x0F0F0F0F;
  }
  INLINED static float4 values(uint codes) {
    const uchar4 each = as_type<uchar4>(codes);
    return float4(kNumbers[each.x], kNumbers[each.y], kNumbers[each.z], kNumbers[each.w]);
  }
};

template <>
struct Block<20> : BlockOfNumbers {
  static constant constexpr uint kCodes = 32;
  static constant constexpr uint kBytes = 18;

  INLINED static Loaded load(device const uchar* block, uint c) {
    return eight_bytes(block + 2 + c);
  }
  INLINED static ScaleOfBlock scale(device const uchar* block, uint, uint) {
    return {half_at(block), 0.0f};
  }
};

// The same in groups of 32 that have a scale of six bits, less 32, a multiple of a half.
template <>
struct Block<23> : BlockOfNumbers {
  static constant constexpr uint kCodes = 256;
  static constant constexpr uint kBytes = 136;

  INLINED static Loaded load(device const uchar* block, uint c) {
    return eight_bytes(block + 8 + c / 32 * 16 + c % 16);
  }
  INLINED static ScaleOfBlock scale(device const uchar* block, uint c, uint) {
    const uint group = c / 32;
    const uint fours = block[4 + group / 2] >> (group % 2 * 4) & 15;
    const uint twos = block[2 + group / 4] >> (group % 4 * 2) & 3;
    return {half_at(block) * (float(fours | twos << 4) - 32.0f), 0.0f};
  }
};

// Codes of two bits from a least value on: groups of 16 have a scale and a least value of four
// bits, which are multiples of two halves.
template <>
struct Block<10> {
  static constant constexpr uint kCodes = 256;
  static constant constexpr uint kBytes = 84;
  static constant constexpr uint kApart = 32;
  using Loaded = uint2;  // bits 0, 1 and 2, 3 of each byte: of both eights

  INLINED static Loaded load(device const uchar* block, uint c) {
    return eight_bytes(block + 16 + c / 128 * 32 + c % 32) >> (c / 64 % 2 * 4);
  }
  INLINED static uint codes(Loaded from, uint q) {
    return word_of(from, q % 2) >> (q / 2 * 2) & 0x03030303;
  }
  INLINED static float4 values(uint codes) { return float4(as_type<uchar4>(codes)); }
  INLINED static ScaleOfBlock scale(device const uchar* block, uint c, uint h) {
    const uint both = block[c / 16 + 2 * h];
    return {half_at(block + 80) * float(both & 15), half_at(block + 82) * -float(both >> 4)};
  }
};

// Codes of three bits, less 4: groups of 16 have a scale of six bits, less 32, a multiple of a
// half.
template <>
struct Block<11> {
  static constant constexpr uint kCodes = 256;
  static constant constexpr uint kBytes = 110;
  static constant constexpr uint kApart = 32;
  struct Loaded {
    uint2 twos;  // as those of Block<10>
    uint2 tops;  // bits 0 and 1 of each byte: of both eights
  };

  INLINED static Loaded load(device const uchar* block, uint c) {
    return {eight_bytes(block + 32 + c / 128 * 32 + c % 32) >> (c / 64 % 2 * 4),
            eight_bytes(block + c % 32) >> (c / 32)};
  }
  INLINED static uint codes(Loaded from, uint q) {
    return (word_of(from.twos, q % 2) >> (q / 2 * 2) & 0x03030303) |
           (word_of(from.tops, q % 2) >> (q / 2) & 0x01010101) << 2;
  }
  INLINED static float4 values(uint codes) { return float4(as_type<uchar4>(codes)) - 4.0f; }
  INLINED static ScaleOfBlock scale(device const uchar* block, uint c, uint h) {
    const uint group = c / 16 + 2 * h;
    const uint fours = block[96 + group % 8] >> (group / 8 * 4) & 15;
    const uint twos = block[104 + group % 4] >> (group / 4 * 2) & 3;
    return {half_at(block + 108) * (float(fours | twos << 4) - 32.0f), 0.0f};
  }
};

// Codes of four or five bits from a least value on: groups of 32 have a scale and a least value of
// six bits, which are multiples of two halves.
template <uint Bits>
struct BlockOfRanges {
  static constant constexpr uint kCodes = 256;
  static constant constexpr uint kBytes = Bits == 5 ? 176 : 144;
  static constant constexpr uint kApart = 32;
  struct Loaded {
    uint2 fours;
    uint2 tops;  // bits 0 and 1 of each byte: of both eights
  };

  INLINED static Loaded load(device const uchar* block, uint c) {
    const uint pair = c / 64, within = c % 32;
    Loaded loaded;
    loaded.fours = *(device const uint2*)(block + (kBytes - 128) + 32 * pair + within);
    loaded.tops = Bits == 5 ? *(device const uint2*)(block + 16 + within) >> (2 * pair) : uint2(0);
    return loaded;
  }
  INLINED static uint codes(Loaded from, uint q) {
    const uint fours = word_of(from.fours, q % 2) >> (q / 2 * 4) & 0x0F0F0F0F;
    return Bits == 5 ? fours | (word_of(from.tops, q % 2) >> (q / 2) & 0x01010101) << 4 : fours;
  }
  INLINED static float4 values(uint codes) { return float4(as_type<uchar4>(codes)); }

  // Groups 0 to 3 have six bits of the first and of the second word. Groups 4 to 7 have four bits
  // of the third word and the two bits above the six.
  INLINED static ScaleOfBlock scale(device const uchar* block, uint c, uint h) {
    device const uint* words = (device const uint*)block;
    const bool is_late = c >= 128;
    const uint shift = c / 32 % 4 * 8 + 8 * h, mask = is_late ? 15 : 63, top = is_late ? 48 : 0;
    const float2 units = float2(as_type<half2>(words[0]));
    const uint first = words[1], second = words[2], third = words[3];
    const uint of_scale = is_late ? third : first, of_least = is_late ? third >> 4 : second;
    const uint s = (of_scale >> shift & mask) | (first >> (shift + 2) & top);
    const uint b = (of_least >> shift & mask) | (second >> (shift + 2) & top);
    return {units.x * float(s), -units.y * float(b)};
  }
};
template <>
struct Block<12> : BlockOfRanges<4> {};
template <>
struct Block<13> : BlockOfRanges<5> {};

// Codes of six bits, less 32: groups of 16 have a scale of eight bits, a multiple of a half.
template <>
struct Block<14> {
  static constant constexpr uint kCodes = 256;
  static constant constexpr uint kBytes = 210;
  static constant constexpr uint kApart = 64;
  struct Loaded {
    uint2 fours;
    uint2 tops;  // bits 0, 1 and 4, 5 of each byte: of both eights
  };

  INLINED static Loaded load(device const uchar* block, uint c) {
    return {eight_bytes(block + c / 128 * 64 + c % 64),
            eight_bytes(block + 128 + c / 128 * 32 + c % 32) >> (c % 64 / 32 * 2)};
  }
  INLINED static uint codes(Loaded from, uint q) {
    const uint shift = q / 2 * 4;
    return (word_of(from.fours, q % 2) >> shift & 0x0F0F0F0F) |
           (word_of(from.tops, q % 2) >> shift & 0x03030303) << 4;
  }
  INLINED static float4 values(uint codes) { return float4(as_type<uchar4>(codes)) - 32.0f; }
  INLINED static ScaleOfBlock scale(device const uchar* block, uint c, uint h) {
    const float s = float(as_type<char>(block[192 + c / 16 + 4 * h]));
    return {half_at(block + 208) * s, 0.0f};
  }
};

// A matrix of such weights: `cols` is whole blocks. Offsets have 32 bits, as those of other
// weights.
template <uint Type>
struct Weights<Block<Type>> {
  using Format = Block<Type>;
  static constant constexpr uint kApart = Format::kApart;
  device const uchar* bytes;
  uint cols;

  INLINED device const uchar* block(uint row, uint column) const {
    constexpr uint codes = Format::kCodes, size = Format::kBytes;
    return bytes + (row * (cols / codes) + column / codes) * size;
  }
  INLINED static float4 quad_of(typename Format::Loaded from, uint q, ScaleOfBlock scale) {
    return fma(scale.s, Format::values(Format::codes(from, q)), scale.b);
  }

  // Count quads beside each other, one or two, from a column that is a multiple of as many weights.
  template <uint Count, typename As>
  INLINED void quads(thread Quad<As>* to, uint row, uint column) const {
    device const uchar* from = block(row, column);
    const uint c = column % Format::kCodes, second = c / kApart % 2;
    const uint first = c / 8 * 8 - second * kApart;
    const auto loaded = Format::load(from, first);
    const ScaleOfBlock scale = Format::scale(from, first, second);
    UNROLLED
    for (uint i = 0; i < Count; ++i) {
      to[i] = Quad<As>(quad_of(loaded, 2 * second + c / 4 % 2 + i, scale));
    }
  }
  INLINED float4 quad(uint row, uint i) const {
    float4 found;
    quads<1>(&found, row, 4 * i);
    return found;
  }

  // 16 weights of a row: eight, and the eight that are kApart behind them (few_rows.h).
  static constant constexpr uint kPiece = 16;
  struct Piece {
    typename Format::Loaded loaded;
    ScaleOfBlock first;
    ScaleOfBlock second;

    INLINED float4 quad(uint q) const {
      return quad_of(loaded, q, {q / 2 ? second.s : first.s, q / 2 ? second.b : first.b});
    }
  };
  INLINED Piece piece(uint row, uint i) const {
    const uint first = column(i, 0), c = first % Format::kCodes;
    device const uchar* from = block(row, first);
    return {Format::load(from, c), Format::scale(from, c, 0), Format::scale(from, c, 1)};
  }
  INLINED static uint column(uint i, uint e) {
    constexpr uint eights = kApart / 8;
    return i / eights * (2 * kApart) + i % eights * 8 + e * kApart;
  }
};

}  // namespace metalbench
