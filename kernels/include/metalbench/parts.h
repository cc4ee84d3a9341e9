// Quads of a part of a row: a head's columns, a slice of channels. Where the part begins and how far rows are apart says
// whether vectors may be loaded: `alignment`, of which both must be multiples, has to be a multiple of four.
#pragma once
#include "metalbench/quads.h"

namespace metalbench {

template <typename T>
inline float4 load_part(device const T* row, uint column, uint cols, uint alignment) {
  if (alignment % 4 == 0 && column + 4 <= cols) {
    return quad_at(row + column, 0);
  }
  float4 v = 0.0f;
  for (uint i = 0; i < 4; ++i) {
    if (column + i < cols) {
      v[i] = float(row[column + i]);
    }
  }
  return v;
}

template <typename T>
inline void store_part(device T* row, uint column, uint cols, uint alignment, float4 v) {
  if (alignment % 4 == 0 && column + 4 <= cols) {
    put_quad(row + column, 0, v);
    return;
  }
  for (uint i = 0; i < 4; ++i) {
    if (column + i < cols) {
      row[column + i] = T(v[i]);
    }
  }
}

}  // namespace metalbench
