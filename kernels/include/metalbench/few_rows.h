// Few rows of x, 2 to 16, times the transpose of weights of few bits: batches of requests that
// decode, and drafts that are verified. A product of tiles computes at least 32 rows, and a matrix
// times a vector unpacks the weights once for each row. Here a SIMD-group has Rows rows of weights
// and all rows of x: a lane loads a piece of each of its rows, unpacks every quad of it once, and
// multiplies that by the elements of all rows of x. Neighbouring lanes have neighbouring pieces.
//
// Weights are a struct with
//   cols            of a row
//   kPiece          weights of a piece
//   piece(row, i)   the i-th piece of a row as it is stored, with its scales; quad(q) unpacks one
//   of
//                   its quads
//   column(i, e)    the first column of its e-th eight weights, quads 2 e and 2 e + 1
#pragma once
#include "metalbench/inlined.h"
#include "metalbench/quads.h"
#include "metalbench/tile_sources.h"

namespace metalbench {

INLINED float add_products(float sum, float4 a, float4 b) {
  return fma(a.x, b.x, fma(a.y, b.y, fma(a.z, b.z, fma(a.w, b.w, sum))));
}

// Rows of weights from `first` on, and the first Batch rows of x. Where there are fewer of either,
// the last ones are multiplied again rather than rows beyond the end, and not stored.
template <uint Rows, uint Batch, typename Matrix, typename T>
INLINED void multiply_rows(Matrix weights, device const T* x, device T* y, uint batch, uint rows,
                           uint first, uint lane) {
  float sums[Rows][Batch] = {};
  for (uint i = lane; i < weights.cols / Matrix::kPiece; i += 32) {
    typename Matrix::Piece pieces[Rows];
    UNROLLED
    for (uint r = 0; r < Rows; ++r) {
      pieces[r] = weights.piece(min(first + r, rows - 1), i);
    }
    UNROLLED
    for (uint e = 0; e < Matrix::kPiece / 8; ++e) {
      float4 eights[Rows][2];
      UNROLLED
      for (uint r = 0; r < Rows; ++r) {
        UNROLLED
        for (uint q = 0; q < 2; ++q) {
          // check: allow registers codes and scales of all rows are on their way together
          eights[r][q] = pieces[r].quad(2 * e + q);
        }
      }
      const uint column = weights.column(i, e);
      UNROLLED
      for (uint b = 0; b < Batch; ++b) {
        Quad<float> given[2];
        // check: allow strided-access all of what neighbouring lanes read follows each other
        load_adjacent<2>(given, x + (min(b, batch - 1) * weights.cols + column));
        UNROLLED
        for (uint r = 0; r < Rows; ++r) {
          // check: allow registers the sums of 16 rows are what reads the weights once
          sums[r][b] = add_products(add_products(sums[r][b], eights[r][0], given[0]), eights[r][1],
                                    given[1]);
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
    // Half of the rows at a time, as registers must hold the sums and the codes on their way.
    constexpr uint half_of_rows = (Rows + 1) / 2;
    ROLLED
    for (uint r = 0; r < Rows; r += half_of_rows) {
      multiply_rows<half_of_rows, 16>(weights, x, y, batch, rows, first + r, lane);
    }
  }
}

}  // namespace metalbench
