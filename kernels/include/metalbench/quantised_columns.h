// A matrix of weights of few bits times a vector, by columns: each thread has 32 columns, whose
// part of the vector stays in its registers, made ready for codes, while the rows of the
// threadgroup pass by. Nothing of the vector is read twice, and sums of several rows cross a
// SIMD-group together. Four rows are on their way while four are multiplied.
#pragma once
#include "metalbench/quantised.h"
#include "metalbench/reduce.h"

namespace metalbench {

// Threads is the most that a threadgroup has; fewer where a row has fewer packs.
template <uint Threads, typename Format, typename T>
struct MatvecByColumns {
  static constant constexpr uint kMost = 64;  // rows of a threadgroup
  static constant constexpr uint kRows = 4;   // at a time
  static constant constexpr uint kPart = Format::kGroup < kPack ? Format::kGroup : kPack;
  static constant constexpr uint kParts = kPack / kPart;

  struct Memory {
    float sums[kMost][Threads / 32];
  };

  // Where a thread's columns of rows are: kRows of them at a time, or all that there are.
  struct Rows {
    device const uint* words;
    Format format;
    uint words_apart;
    uint groups_apart;
    uint last;  // of those at a time

    INLINED Rows(Weights<Format> weights, uint row, uint rows, uint column)
        : words(weights.words + weights.word(row, column)),
          format(weights.format.from(weights.group(row, column))),
          words_apart(weights.cols / kPack * Format::kBits),
          groups_apart(weights.cols / Format::kGroup),
          last(min(rows, kRows) - 1) {}

    INLINED void advance(uint count) {
      words += count * words_apart;
      format = format.from(count * groups_apart);
    }
  };

  // Packs of neighbouring rows, as they are loaded.
  struct Step {
    Pack<Format::kBits> packs[kRows];
    typename Format::Stored scales[kRows][kParts];

    INLINED void load(thread const Rows& rows) {
      UNROLLED
      for (uint r = 0; r < kRows; ++r) {
        const uint at = min(r, rows.last);
        packs[r] = Pack<Format::kBits>(rows.words + at * rows.words_apart);
        UNROLLED
        for (uint part = 0; part < kParts; ++part) {
          scales[r][part] =
              rows.format.stored(at * rows.groups_apart + part * kPart / Format::kGroup);
        }
      }
    }
  };

  float4 operands[kPack / 4];  // of the vector
  float seen[kParts];          // sums of it

  // Zeros past the last column.
  INLINED void take(device const T* x, uint column, uint cols) {
    const float live = column < cols ? 1.0f : 0.0f;
    UNROLLED
    for (uint part = 0; part < kParts; ++part) {
      seen[part] = 0.0f;
      UNROLLED
      for (uint i = part * kPart; i < (part + 1) * kPart; i += 4) {
        // check: allow registers the part of the vector and rows on their way are in registers
        const float4 four = quad_at(x, (min(column, cols - kPack) + i) / 4) * live;
        seen[part] += total(four);
        operands[i / 4] = Format::operands(i, four);
      }
    }
  }

  INLINED float product(thread const Step& step, uint r) const {
    float sum = 0.0f;
    UNROLLED
    for (uint part = 0; part < kParts; ++part) {
      typename Format::Sums products = 0.0f;
      UNROLLED
      for (uint i = part * kPart; i < (part + 1) * kPart; i += 4) {
        add_products(products, Format::factors(step.packs[r], i), operands[i / 4]);
      }
      Format::add(sum, Format::scale(step.scales[r][part]), products, seen[part]);
    }
    return sum;
  }

  // The products of a step's rows, of lane r that of row r.
  INLINED float products(thread const Step& step, uint lane) const {
    float4 all;
    UNROLLED
    for (uint r = 0; r < kRows; ++r) {
      all[r] = product(step, r);
    }
    all = simd_sum(all);
    float own = 0.0f;
    UNROLLED
    for (uint r = 0; r < kRows; ++r) {
      own = lane == r ? all[r] : own;
    }
    return own;
  }

  // Rows first .. first + count - 1, kMost at most.
  INLINED static void compute(Weights<Format> weights, device const T* x, device T* y, uint rows,
                              uint first, uint count, uint threads, threadgroup Memory& memory,
                              Place place) {
    const uint end = min(first + count, rows);
    // The last rows of all are once more among those before them, rather than beyond the end.
    const uint top = rows - min(rows, kRows);
    for (uint from = 0; from < weights.cols; from += kPack * threads) {
      const uint column = from + kPack * place.thread_index;
      uint row = min(first, top);
      Rows next_rows(weights, row, rows, min(column, weights.cols - kPack));
      Step next;
      next.load(next_rows);
      MatvecByColumns part;
      part.take(x, column, weights.cols);
      for (uint begin = first; begin < end; begin += kRows) {
        const Step step = next;
        // Without a question: one would let a compiler put the loads behind what is to hide them.
        // Last come the rows that are there already.
        const uint after = begin + kRows < end ? min(begin + kRows, top) : row;
        next_rows.advance(after - row);
        next.load(next_rows);
        const float sum = part.products(step, place.lane);
        const uint own = row + place.lane;
        if (place.lane < kRows && own >= begin && own < end) {
          threadgroup float& total = memory.sums[own - first][place.simdgroup];
          total = from > 0 ? total + sum : sum;
        }
        row = after;
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint r = place.thread_index; first + r < end; r += threads) {
      float sum = 0.0f;
      for (uint i = 0; i < Threads / 32; ++i) {
        sum += i < threads / 32 ? memory.sums[r][i] : 0.0f;
      }
      y[first + r] = T(sum);
    }
  }
};

}  // namespace metalbench
