// A matrix of weights of few bits times a vector, by columns: each thread has 32 columns, whose part
// of the vector stays in its registers, made ready for codes, while the rows of the threadgroup pass
// by. Nothing of the vector is read twice, and sums of several rows cross a SIMD-group together.
// Runs are on their way two steps ahead of those that are multiplied.
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

  // Of a thread's columns: the first row's run, where others are from there, and which is the last.
  struct Rows {
    device const uint* words;
    Format format;
    uint words_apart;
    uint groups_apart;
    uint last;

    INLINED Rows(Weights<Format> weights, uint first, uint rows, uint column)
        : format(weights.format) {
      const ulong place = weights.place(first, column);
      words = weights.words + place / kRun * Format::kBits;
      format = weights.format.from(place / Format::kGroup);
      words_apart = weights.cols / kRun * Format::kBits;
      groups_apart = weights.cols / Format::kGroup;
      last = rows - 1 - first;
    }
  };

  // Runs of neighbouring rows, as they are loaded.
  struct Step {
    Run<Format::kBits> runs[kRows];
    typename Format::Stored scales[kRows][kParts];

    INLINED void load(thread const Rows& rows, uint row) {
      for (uint r = 0; r < kRows; ++r) {
        const uint at = min(row + r, rows.last);
        runs[r] = Run<Format::kBits>(rows.words + at * rows.words_apart);
        for (uint part = 0; part < kParts; ++part) {
          scales[r][part] = rows.format.stored(at * rows.groups_apart + part * kPart / Format::kGroup);
        }
      }
    }
  };

  float less[kRun];      // of the vector
  float seen[kParts];    // sums of it

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

  // Adds a step's products to the sums of its rows, which this SIMD-group alone writes to.
  INLINED void add(thread const Step& step, uint at, threadgroup Memory& memory,
                   Place place) const {
    float4 products;
    for (uint r = 0; r < kRows; ++r) {
      products[r] = product(step, r);
    }
    products = simd_sum(products);
    if (place.lane < kRows) {
      memory.sums[at + place.lane][place.simdgroup] += products[place.lane];
    }
  }

  // Rows first .. first + count - 1: `count` is a multiple of eight, and kMost at most.
  INLINED static void run(Weights<Format> weights, device const T* x, device T* y, uint rows,
                          uint first, uint count, uint threads, threadgroup Memory& memory,
                          Place place) {
    for (uint r = place.lane; r < count; r += 32) {
      memory.sums[r][place.simdgroup] = 0.0f;
    }
    for (uint from = 0; from < weights.cols; from += kRun * threads) {
      const uint column = from + kRun * place.thread_index;
      const Rows own(weights, first, rows, min(column, weights.cols - kRun));
      Step step, next;
      step.load(own, 0);
      MatvecByColumns part;
      part.take(x, column, weights.cols);
      for (uint r = 0; r < count; r += 2 * kRows) {
        next.load(own, r + kRows);
        part.add(step, r, memory, place);
        if (r + 2 * kRows < count) {
          step.load(own, r + 2 * kRows);
        }
        part.add(next, r + kRows, memory, place);
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint r = place.thread_index; r < count && first + r < rows; r += threads) {
      float sum = 0.0f;
      for (uint i = 0; i < threads / 32; ++i) {
        sum += memory.sums[r][i];
      }
      y[first + r] = T(sum);
    }
  }
};

}  // namespace metalbench
