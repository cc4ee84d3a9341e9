// Few rows of x, 2 to 16, times the transpose of weights of few bits: batches of requests that
// decode, and drafts that are verified. A product of tiles computes at least 32 rows, and a matrix
// times a vector unpacks the weights once for each row. Here a SIMD-group has Rows rows of weights
// and all rows of x: a lane unpacks eight weights of each of its rows into registers once, and
// multiplies them by the elements of all rows of x. Neighbouring lanes have neighbouring words of
// weights and elements of x.
//
// Weights are a struct with
//   cols                     of a row
//   piece(to, row, i)        unpacks the i-th eight weights of a row, two quads
//   column(i, q)             the first column of quad q of piece i
#pragma once
#include "metalbench/inlined.h"
#include "metalbench/quads.h"

namespace metalbench {

constant constexpr uint kPiece = 8;  // weights

// Rows of weights from `first` on, and the first Batch rows of x. Where there are fewer of either,
// the last ones are multiplied again rather than rows beyond the end, and not stored.
template <uint Rows, uint Batch, typename Matrix, typename T>
INLINED void multiply_rows(Matrix weights, device const T* x, device T* y, uint batch, uint rows,
                           uint first, uint lane) {
  float sums[Rows][Batch] = {};
  for (uint i = lane; i < weights.cols / kPiece; i += 32) {
    float4 pieces[Rows][kPiece / 4];
    UNROLLED
    for (uint r = 0; r < Rows; ++r) {
      weights.piece(pieces[r], min(first + r, rows - 1), i);
    }
    UNROLLED
    for (uint b = 0; b < Batch; ++b) {
      device const T* row = x + min(b, batch - 1) * weights.cols;
      UNROLLED
      for (uint q = 0; q < kPiece / 4; ++q) {
        const float4 four = quad_at(row + weights.column(i, q), 0);
        UNROLLED
        for (uint r = 0; r < Rows; ++r) {
          // check: allow registers 64 sums of 16 rows are what reads the weights once
          sums[r][b] += dot(pieces[r][q], four);
        }
      }
    }
  }
  UNROLLED
  for (uint b = 0; b < Batch; ++b) {
    UNROLLED
    for (uint r = 0; r < Rows; ++r) {
      const float sum = simd_sum(sums[r][b]);
      if (lane == 0 && b < batch && first + r < rows) {
        y[b * rows + first + r] = T(sum);
      }
    }
  }
}

// The same for any batch up to 16. The number of sums is the least power of two that suffices:
// a form for every batch would be 15 times the code.
template <uint Rows, typename Matrix, typename T>
INLINED void multiply_few(Matrix weights, device const T* x, device T* y, uint batch, uint rows,
                          uint first, uint lane) {
  if (batch <= 2) {
    multiply_rows<Rows, 2>(weights, x, y, batch, rows, first, lane);
  } else if (batch <= 4) {
    multiply_rows<Rows, 4>(weights, x, y, batch, rows, first, lane);
  } else if (batch <= 8) {
    multiply_rows<Rows, 8>(weights, x, y, batch, rows, first, lane);
  } else {
    multiply_rows<Rows, 16>(weights, x, y, batch, rows, first, lane);
  }
}

}  // namespace metalbench
