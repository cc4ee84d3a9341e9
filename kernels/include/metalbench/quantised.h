// Weights of few bits, in rows: codes are one little-endian stream a row, and each group of them
// has a scale. 32 codes are kBits words, whatever kBits is: what a thread reads at once.
#pragma once
#include "metalbench/quantised_formats.h"

namespace metalbench {

// A row of such weights.
template <typename Format>
struct RowOfWeights {
  device const uint* words;
  Format format;

  INLINED Run<Format::kBits> run(uint column) const {
    return Run<Format::kBits>(words + column / kRun * Format::kBits);
  }
  INLINED typename Format::Stored stored(uint column) const {
    return format.stored(column / Format::kGroup);
  }
};

// A matrix of such weights; `cols` is whole runs and whole groups.
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

  INLINED RowOfWeights<Format> row(ulong row) const { return from(row, 0); }

  // What begins at a column that is a multiple of kRun; groups may be longer.
  INLINED RowOfWeights<Format> from(ulong row, uint column) const {
    const ulong begin = place(row, column);
    return {words + begin / kRun * kBits, format.from(begin / kGroup)};
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
    const typename Format::Scale of = Format::scale(format.from(from / kGroup).stored(0));
    float4 values;
    for (uint i = 0; i < 4; ++i) {
      values[i] = Format::at(of, Format::value((low >> (i * kBits)) & ((1u << kBits) - 1)));
    }
    return values;
  }
};

}  // namespace metalbench
