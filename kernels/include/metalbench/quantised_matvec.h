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

// Packs of several rows that are on their way together.
template <uint Rows, uint Ahead, typename Format>
struct PacksAhead {
  // Parts of a pack, each of one group.
  static constant constexpr uint kPart = Format::kGroup < kPack ? Format::kGroup : kPack;
  static constant constexpr uint kParts = kPack / kPart;
  static constant constexpr uint kStep = kPack * 32;  // columns of a SIMD-group
  Pack<Format::kBits> packs[Ahead][Rows];
  typename Format::Scale scales[Ahead][Rows][kParts];

  // Rows and columns past the last repeat it, so that nothing is tested here.
  INLINED PacksAhead(Weights<Format> weights, uint rows, uint first, uint column) {
    UNROLLED
    for (uint a = 0; a < Ahead; ++a) {
      UNROLLED
      for (uint r = 0; r < Rows; ++r) {
        const ulong place =
            weights.place(min(first + r, rows - 1), min(column + a * kStep, weights.cols - kPack));
        packs[a][r] = Pack<Format::kBits>(weights.words + place / kPack * Format::kBits);
        UNROLLED
        for (uint part = 0; part < kParts; ++part) {
          scales[a][r][part] = weights.scale(place + part * kPart);
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
        float4 products[Rows] = {};
        UNROLLED
        for (uint i = 0; i < kPack; i += 4) {
          const float4 x = vector.quad(column + a * kStep + i);
          UNROLLED
          for (uint r = 0; r < Rows; ++r) {
            float4 w;
            UNROLLED
            for (uint j = 0; j < 4; ++j) {
              w[j] = Format::weight(packs[a][r], i + j, scales[a][r][i / kPart]);
            }
            products[r] = fma(w, x, products[r]);
          }
        }
        UNROLLED
        for (uint r = 0; r < Rows; ++r) {
          sums[r] += total(products[r]);
        }
      }
    }
  }
};

template <uint Rows, typename T>
INLINED void store_sums(thread const float (&sums)[Rows], float factor, device T* y, uint rows,
                        uint first, uint lane) {
  UNROLLED
  for (uint r = 0; r < Rows; ++r) {
    const float sum = simd_sum(sums[r]) * factor;
    if (lane == 0 && first + r < rows) {
      y[first + r] = T(sum);
    }
  }
}

// Rows first .. of the SIMD-group.
template <uint Rows, uint Ahead, typename Format, typename Vector, typename T>
INLINED void quantised_matvec(Weights<Format> weights, Vector vector, device T* y, uint rows,
                              uint first, uint lane) {
  using Packs = PacksAhead<Rows, Ahead, Format>;
  float sums[Rows] = {};
  for (uint column = kPack * lane; column < weights.cols; column += Ahead * Packs::kStep) {
    const Packs packs(weights, rows, first, column);
    packs.add(vector, column, weights.cols, sums);
  }
  store_sums(sums, vector.factor(), y, rows, first, lane);
}

// The same for all Threads of a threadgroup, with the vector in its memory.
template <uint Rows, uint Ahead, uint Threads, typename Format, typename V, typename T>
INLINED void staged_matvec(Weights<Format> weights, device const V* x, device T* y, uint rows,
                           uint first, threadgroup float4* quads, Place place) {
  using Packs = PacksAhead<Rows, Ahead, Format>;
  constexpr uint tile = TileOfVector::kColumns;
  float sums[Rows] = {};
  for (uint from = 0; from < weights.cols; from += tile) {
    const uint end = min(weights.cols, from + tile);
    uint column = from + kPack * place.lane;
    Packs packs(weights, rows, first, column);  // on their way while the vector is
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
        packs = Packs(weights, rows, first, column);
      }
    }
  }
  store_sums(sums, 1.0f, y, rows, first, place.lane);
}

}  // namespace metalbench
