// Four neighbouring elements at a time, whatever their type and however many there are: memory is moved by vectors,
// arithmetic is done in float.
#pragma once
#include <metal_stdlib>

namespace metalbench {

using namespace metal;

template <typename T>
using Quad = vec<T, 4>;

// What arithmetic sees of elements: floats of any width as float, masks as they are.
template <typename T>
struct Widened {
  using One = float;
  using Four = float4;
};
template <>
struct Widened<bool> {
  using One = bool;
  using Four = bool4;
};

inline float total(float4 v) { return (v.x + v.y) + (v.z + v.w); }

inline float largest(float4 v) { return max(max(v.x, v.y), max(v.z, v.w)); }

// Quad `i` of an array, all of which is there. Arrays begin where vectors may be loaded.
template <typename T>
inline typename Widened<T>::Four quad_at(device const T* array, uint i) {
  return typename Widened<T>::Four(((device const Quad<T>*)array)[i]);
}

template <typename T>
inline void put_quad(device T* array, uint i, float4 v) {
  ((device Quad<T>*)array)[i] = Quad<T>(v);
}

// Four columns of a row; `beyond` is what lies past its end. Rows are aligned for vector loads only if `cols` is a
// multiple of four, which all threads find alike.
template <typename T>
inline typename Widened<T>::Four load_quad(device const T* row, uint column, uint cols,
                                           typename Widened<T>::One beyond = 0) {
  using One = typename Widened<T>::One;
  using Four = typename Widened<T>::Four;
  if (column + 4 <= cols) {
    if (cols % 4 == 0) {
      return quad_at(row + column, 0);
    }
    return Four(One(row[column]), One(row[column + 1]), One(row[column + 2]), One(row[column + 3]));
  }
  Four v = Four(beyond);
  for (uint i = 0; i < 3; ++i) {
    if (column + i < cols) {
      v[i] = One(row[column + i]);
    }
  }
  return v;
}

// Stores those of four columns that the row has.
template <typename T>
inline void store_quad(device T* row, uint column, uint cols, float4 v) {
  if (cols % 4 == 0 && column < cols) {
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
