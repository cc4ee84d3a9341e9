// A matrix of weights of few bits times a vector. A SIMD-group makes Rows rows: a lane reads packs
// of 32 codes of every row, Ahead of them along a row before the first is used, so that enough
// memory is on its way; weights are made of the codes in registers. They are read once, and bound
// the speed.
//
// A lane's 32 elements of the vector lie together, where other lanes' do not: where Staged, the
// threadgroup keeps tiles of the vector as floats in its memory, 36 apart, so that no two lanes
// meet in a bank; else they come from the cache.
#pragma once
#include "metalbench/quantised.h"
#include "metalbench/reduce.h"

namespace metalbench {

// What is multiplied: quads of elements, and a factor of all sums once all have been seen.
template <typename T>
struct PlainVector {
  device const T* x;

  INLINED float4 quad(uint column) { return quad_at(x, column / 4); }
  INLINED float factor() const { return 1.0f; }
};

// Divided by its root mean square, times a gain; not Staged, as each SIMD-group sums all squares.
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

// What of a vector is in threadgroup memory, from a column on.
struct TileOfVector {
  static constant constexpr uint kColumns = 4096;
  static constant constexpr uint kQuads = kColumns / kPack * 9;  // eight of a pack, and a gap
  threadgroup const float4* quads;
  uint from;

  INLINED float4 quad(uint column) const {
    const uint at = column - from;
    return quads[at / kPack * 9 + at % kPack / 4];
  }
};

// Neighbouring rows of a matrix: `Rows` of them, or all that there are. The last rows begin earlier
// rather than beyond the end. Distances from the first one are the same for all SIMD-groups.
template <uint Rows, typename Format>
struct RowsOfWeights {
  uint row;
  uint last;                // of Rows
  Weights<Format> weights;  // from the row on

  INLINED RowsOfWeights(Weights<Format> all, uint rows, uint first)
      : row(min(first, rows - min(rows, Rows))),
        last(min(rows, Rows) - 1),
        weights(all.from_row(row)) {}
};

// Packs of several rows that are on their way together.
template <uint Rows, uint Ahead, typename Format>
struct PacksAhead {
  static constant constexpr uint kCodes = Format::kCodes;
  // Parts of a pack, each of one group.
  static constant constexpr uint kPart = Format::kGroup < kCodes ? Format::kGroup : kCodes;
  static constant constexpr uint kParts = kCodes / kPart;
  static constant constexpr uint kStep = kCodes * 32;  // columns of a SIMD-group
  Pack<Format::kBits, kCodes> packs[Ahead][Rows];
  typename Format::Stored scales[Ahead][Rows][kParts];

  // Columns past the last repeat it, so that nothing is tested here.
  INLINED PacksAhead(thread const RowsOfWeights<Rows, Format>& rows, uint column) {
    const Weights<Format> weights = rows.weights;
    UNROLLED
    for (uint a = 0; a < Ahead; ++a) {
      const uint at = min(column + a * kStep, weights.cols - kCodes);
      const uint word = weights.word(0, at), group = weights.group(0, at);
      UNROLLED
      for (uint r = 0; r < Rows; ++r) {
        const uint apart = min(r, rows.last);
        // check: allow registers packs and scales of all rows are on their way together
        packs[a][r] = Pack<Format::kBits, kCodes>(weights.words + (word + weights.word(apart, 0)));
        UNROLLED
        for (uint part = 0; part < kParts; ++part) {
          scales[a][r][part] = weights.format.stored(group + weights.group(apart, part * kPart));
        }
      }
    }
  }

  // Adds what those before column `end` give with a vector.
  template <typename Vector>
  INLINED void add(thread Vector& vector, uint column, uint end, thread float (&sums)[Rows]) const {
    UNROLLED
    for (uint a = 0; a < Ahead; ++a) {
      if (column + a * kStep < end) {
        UNROLLED
        for (uint part = 0; part < kParts; ++part) {
          add_part(vector, column + a * kStep, a, part, sums);
        }
      }
    }
  }

  template <typename Vector>
  INLINED void add_part(thread Vector& vector, uint column, uint a, uint part,
                        thread float (&sums)[Rows]) const {
    // Quads whose codes become numbers together follow each other, so that these are few at a time.
    constexpr uint quads = Format::kPair ? 2 : 1;
    typename Format::Sums products[Rows] = {};
    float seen = 0.0f;
    UNROLLED
    for (uint i = part * kPart; i < (part + 1) * kPart; i += 4) {
      if (Format::kPair && i / Format::kPair % 2) {
        continue;
      }
      float4 x[quads];
      UNROLLED
      for (uint q = 0; q < quads; ++q) {
        const uint at = i + q * Format::kPair;
        const float4 four = vector.quad(column + at);
        seen += total(four);
        x[q] = Format::operands(at, four);
      }
      UNROLLED
      for (uint r = 0; r < Rows; ++r) {
        UNROLLED
        for (uint q = 0; q < quads; ++q) {
          add_products(products[r], Format::factors(packs[a][r], i + q * Format::kPair), x[q]);
        }
      }
    }
    UNROLLED
    for (uint r = 0; r < Rows; ++r) {
      Format::add(sums[r], Format::scale(scales[a][r][part]), products[r], seen);
    }
  }
};

template <uint Rows, typename Format, typename T>
INLINED void store_sums(thread const float (&sums)[Rows], float factor, device T* y,
                        thread const RowsOfWeights<Rows, Format>& rows, uint first, uint lane) {
  UNROLLED
  for (uint r = 0; r < Rows; ++r) {
    const float sum = simd_sum(sums[r]) * factor;
    if (lane == 0 && r <= rows.last && rows.row + r >= first) {
      y[rows.row + r] = T(sum);
    }
  }
}

// Rows first .. of the SIMD-group.
template <uint Rows, uint Ahead, typename Format, typename Vector, typename T>
INLINED void quantised_matvec(Weights<Format> weights, Vector vector, device T* y, uint rows,
                              uint first, uint lane) {
  using Packs = PacksAhead<Rows, Ahead, Format>;
  const RowsOfWeights<Rows, Format> own(weights, rows, first);
  float sums[Rows] = {};
  for (uint column = Packs::kCodes * lane; column < weights.cols; column += Ahead * Packs::kStep) {
    const Packs packs(own, column);
    packs.add(vector, column, weights.cols, sums);
  }
  store_sums(sums, vector.factor(), y, own, first, lane);
}

// The same for all Threads of a threadgroup, with the vector in its memory.
template <uint Rows, uint Ahead, uint Threads, typename Format, typename V, typename T>
INLINED void staged_matvec(Weights<Format> weights, device const V* x, device T* y, uint rows,
                           uint first, threadgroup float4* quads, Place place) {
  using Packs = PacksAhead<Rows, Ahead, Format>;
  constexpr uint tile = TileOfVector::kColumns;
  const RowsOfWeights<Rows, Format> own(weights, rows, first);
  float sums[Rows] = {};
  for (uint from = 0; from < weights.cols; from += tile) {
    const uint end = min(weights.cols, from + tile);
    uint column = from + Packs::kCodes * place.lane;
    Packs packs(own, column);  // on their way while the vector is
    if (from > 0) {
      threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    for (uint i = place.thread_index; from + 4 * i < end; i += Threads) {
      quads[i / 8 * 9 + i % 8] = quad_at(x, from / 4 + i);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    TileOfVector vector = {quads, from};
    while (column < end) {
      packs.add(vector, column, end, sums);
      column += Ahead * Packs::kStep;
      if (column < end) {
        packs = Packs(own, column);
      }
    }
  }
  store_sums(sums, 1.0f, y, own, first, place.lane);
}

}  // namespace metalbench
