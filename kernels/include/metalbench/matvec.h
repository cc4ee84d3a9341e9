// Rows of a row-major matrix times a vector: a SIMD-group makes Rows neighbouring elements of the
// result. The matrix is read once, in quads along its rows, and bounds the speed; a quad of the
// vector meets Rows rows before it leaves its register. Lanes end in one SIMD-group sum an element:
// no threadgroup memory, no barrier. Needs, for threadgroups of TG threads,
//   threadgroups=(ceil_div(rows, Rows * TG / 32))  threads=(TG)
// A `Vector` gives the quad of a column, zero past its end, as a Row (rows.h) does.
#pragma once
#include "metalbench/inlined.h"
#include "metalbench/quads.h"

namespace metalbench {

using namespace metal;

// A vector as it is in memory.
template <typename T>
struct VectorQuads {
  device const T* x;
  uint cols;
  INLINED float4 operator()(uint column) const { return load_quad(x, column, cols); }
};

// The products of rows `first` to `first + Rows - 1` of `rows`, of which `first` is one.
template <uint Rows>
struct RowProducts {
  uint first;
  uint rows;
  uint lane;
  float4 sums[Rows];

  INLINED RowProducts(uint first, uint rows, uint lane) : first(first), rows(rows), lane(lane) {
    UNROLLED
    for (uint r = 0; r < Rows; ++r) {
      sums[r] = 0.0f;
    }
  }

  // Adds the products with a matrix of `rows` by `cols`. Rows past the last one repeat it, so that
  // the loop needs no test; they are not stored. The loop works on separate variables: members of an
  // object whose address is taken might not stay in registers.
  template <typename T, typename Vector>
  INLINED void add(device const T* matrix, uint cols, Vector vector) {
    device const T* row[Rows];
    UNROLLED
    for (uint r = 0; r < Rows; ++r) {
      row[r] = matrix + ulong(min(first + r, rows - 1)) * cols;
    }
    float4 own[Rows];
    UNROLLED
    for (uint r = 0; r < Rows; ++r) {
      own[r] = sums[r];
    }
    for (uint column = 4 * lane; column < cols; column += 4 * 32) {
      const float4 v = vector(column);
      UNROLLED
      for (uint r = 0; r < Rows; ++r) {
        own[r] = fma(load_quad(row[r], column, cols), v, own[r]);
      }
    }
    UNROLLED
    for (uint r = 0; r < Rows; ++r) {
      sums[r] = own[r];
    }
  }

  // Stores the elements in the vector `y` of `rows`.
  template <typename T>
  INLINED void store(device T* y) const {
    UNROLLED
    for (uint r = 0; r < Rows; ++r) {
      const float sum = simd_sum(total(sums[r]));
      if (lane == 0 && first + r < rows) {
        y[first + r] = T(sum);
      }
    }
  }
};

}  // namespace metalbench
