// A matrix of weights of few bits times a vector, by columns: each thread has 32 columns, whose
// part of the vector stays in its registers, made ready for codes, while the rows of the
// threadgroup pass by. Nothing of the vector is read twice, and sums of several rows cross a
// SIMD-group together. Four rows are on their way while four are multiplied.
#pragma once
#include "metalbench/quantised.h"
#include "metalbench/reduce.h"

namespace metalbench {

// Threads is the most that a threadgroup has; fewer where a row has not so many runs.
template <uint Threads, typename Format, typename T>
struct MatvecByColumns {
  static constant constexpr uint kMost = 64;  // rows of a threadgroup
  static constant constexpr uint kRows = 4;   // at a time
  static constant constexpr uint kPart = Format::kGroup < kRun ? Format::kGroup : kRun;
  static constant constexpr uint kParts = kRun / kPart;

  struct Memory {
    float sums[kMost][Threads / 32];
  };

  // Where a thread's columns of rows are: kRows of them at a time, or all that there are.
  struct Rows {
    RowOfWeights<Format> first;
    uint words_apart;
    uint groups_apart;
    uint last;  // of those at a time

    INLINED Rows(Weights<Format> weights, uint row, uint rows, uint column)
        : first(weights.from(row, column)) {
      words_apart = weights.cols / kRun * Format::kBits;
      groups_apart = weights.cols / Format::kGroup;
      last = min(rows, kRows) - 1;
    }

    INLINED void advance(uint count) {
      first.words += count * words_apart;
      first.format = first.format.from(count * groups_apart);
    }
  };

  // Runs of neighbouring rows, as they are loaded.
  struct Step {
    Run<Format::kBits> runs[kRows];
    typename Format::Stored scales[kRows][kParts];

    INLINED void load(thread const Rows& rows) {
      for (uint r = 0; r < kRows; ++r) {
        const uint at = min(r, rows.last);
        runs[r] = Run<Format::kBits>(rows.first.words + at * rows.words_apart);
        for (uint part = 0; part < kParts; ++part) {
          scales[r][part] =
              rows.first.format.stored(at * rows.groups_apart + part * kPart / Format::kGroup);
        }
      }
    }
  };

  float less[kRun];    // of the vector
  float seen[kParts];  // sums of it

  // Zeros past the last column.
  INLINED void take(device const T* x, uint column, uint cols) {
    const float live = column < cols ? 1.0f : 0.0f;
    for (uint part = 0; part < kParts; ++part) {
      seen[part] = 0.0f;
      for (uint i = part * kPart; i < (part + 1) * kPart; i += 4) {
        const float4 four = quad_at(x, (min(column, cols - kRun) + i) / 4) * live;
        seen[part] += total(four);
        for (uint j = 0; j < 4; ++j) {
          less[i + j] = Format::less(i + j, four[j]);
        }
      }
    }
  }

  INLINED float product(thread const Step& step, uint r) const {
    float sum = 0.0f;
    for (uint part = 0; part < kParts; ++part) {
      const typename Format::Scale scale = Format::scale(step.scales[r][part]);
      float4 products = 0.0f;
      for (uint i = part * kPart; i < (part + 1) * kPart; i += 4) {
        for (uint j = 0; j < 4; ++j) {
          products[j] = fma(Format::factor(step.runs[r], i + j, scale), less[i + j], products[j]);
        }
      }
      sum += Format::sum(scale, total(products), seen[part]);
    }
    return sum;
  }

  // The products of a step's rows, of lane r that of row r.
  INLINED float products(thread const Step& step, uint lane) const {
    float4 all;
    for (uint r = 0; r < kRows; ++r) {
      all[r] = product(step, r);
    }
    all = simd_sum(all);
    return lane < kRows ? all[lane] : 0.0f;
  }

  // Rows first .. first + count - 1, kMost at most.
  INLINED static void run(Weights<Format> weights, device const T* x, device T* y, uint rows,
                          uint first, uint count, uint threads, threadgroup Memory& memory,
                          Place place) {
    const uint end = min(first + count, rows);
    // The last rows of all are once more among those before them, rather than beyond the end.
    const uint top = rows - min(rows, kRows);
    for (uint from = 0; from < weights.cols; from += kRun * threads) {
      const uint column = from + kRun * place.thread_index;
      uint row = min(first, top);
      Rows next_rows(weights, row, rows, min(column, weights.cols - kRun));
      Step next;
      next.load(next_rows);
      MatvecByColumns part;
      part.take(x, column, weights.cols);
      for (uint begin = first; begin < end; begin += kRows) {
        const Step step = next;
        const uint after = min(begin + kRows, top);
        if (begin + kRows < end) {
          next_rows.advance(after - row);
          next.load(next_rows);
        }
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
      for (uint i = 0; i < threads / 32; ++i) {
        sum += memory.sums[r][i];
      }
      y[first + r] = T(sum);
    }
  }
};

}  // namespace metalbench
