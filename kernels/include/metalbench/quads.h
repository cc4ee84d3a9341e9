// Four neighbouring elements at a time, whatever their type and however many there are: memory is
// moved by vectors, arithmetic is done in float. Names in capitals are left to kernels, as tunables
// are macros.
#pragma once
#include <metal_stdlib>

namespace metalbench {

using namespace metal;

template <typename T>
using Quad = vec<T, 4>;

// What arithmetic sees of elements: floats of any width as float, masks as they are. There are no
// packed vectors of bool; its bytes are those of uchar.
template <typename T>
struct Widened {
  using Bare = T;
  using One = float;
  using Four = float4;
};
template <>
struct Widened<bool> {
  using Bare = uchar;
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

// Four columns of a row; `beyond` is what lies past its end. A row need not begin where vectors are
// aligned, but packed ones are aligned as their elements, and Apple's GPUs load four elements from
// wherever one may be.
template <typename T>
inline typename Widened<T>::Four load_quad(device const T* row, uint column, uint cols,
                                           typename Widened<T>::One beyond = 0) {
  using Four = typename Widened<T>::Four;
  using Bare = typename Widened<T>::Bare;
  if (column + 4 <= cols) {
    return Four(vec<Bare, 4>(*(device const packed_vec<Bare, 4>*)(row + column)));
  }
  Four v = Four(beyond);
  for (uint i = 0; i < 3; ++i) {
    if (column + i < cols) {
      v[i] = typename Widened<T>::One(row[column + i]);
    }
  }
  return v;
}

// Stores those of four columns that the row has.
template <typename T>
inline void store_quad(device T* row, uint column, uint cols, float4 v) {
  if (column + 4 <= cols) {
    *(device packed_vec<T, 4>*)(row + column) = packed_vec<T, 4>(Quad<T>(v));
    return;
  }
  for (uint i = 0; i < 3; ++i) {
    if (column + i < cols) {
      row[column + i] = T(v[i]);
    }
  }
}

}  // namespace metalbench
