// Four neighbouring elements at a time, whatever their type and however many there are: memory is
// moved by vectors, arithmetic is done in float. Names in capitals are left to kernels, as tunables
// are macros.
#pragma once
#include <metal_stdlib>

#include "metalbench/inlined.h"

namespace metalbench {

using namespace metal;

template <typename T>
using Quad = vec<T, 4>;

// What arithmetic sees of elements: floats of any width as float, masks as they are. `Packed` is four
// elements in memory at any alignment of theirs; for bool, which has none, those of its bytes.
template <typename T>
struct Widened;
template <>
struct Widened<float> {
  using One = float;
  using Four = float4;
  using Packed = packed_float4;
  using Loaded = float4;
};
template <>
struct Widened<half> {
  using One = float;
  using Four = float4;
  using Packed = packed_half4;
  using Loaded = half4;
};
template <>
struct Widened<bfloat> {
  using One = float;
  using Four = float4;
  using Packed = packed_bfloat4;
  using Loaded = bfloat4;
};
template <>
struct Widened<bool> {
  using One = bool;
  using Four = bool4;
  using Packed = packed_uchar4;
  using Loaded = uchar4;
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

// Four columns of a row; past its end `beyond`. A row need not begin where vectors are aligned.
// Packed vectors have the alignment of their elements. Apple's GPUs load four elements from any such
// address at once, others load packed vectors element by element. `Whole` rows are whole quads and
// begin where vectors are aligned. `Full` says that the row has all four columns.
template <bool Whole, bool Full = false, typename T>
inline typename Widened<T>::Four load_quad(device const T* row, uint column, uint cols,
                                           typename Widened<T>::One beyond = 0) {
  using W = Widened<T>;
  using Four = typename W::Four;
  // check: allow divergent-branch the last quad of a row at most has fewer than four columns
  if (Full || column + 4 <= cols) {
    return Whole ? quad_at(row + column, 0)
                 : Four(typename W::Loaded(*(device const typename W::Packed*)(row + column)));
  }
  Four v = Four(beyond);
  for (uint i = 0; i < (Whole ? 0u : 3u); ++i) {
    if (column + i < cols) {
      v[i] = typename Widened<T>::One(row[column + i]);
    }
  }
  return v;
}

template <typename T>
inline typename Widened<T>::Four load_quad(device const T* row, uint column, uint cols,
                                           typename Widened<T>::One beyond = 0) {
  return load_quad<false>(row, column, cols, beyond);
}

// Quads that one load brings.
template <typename T, uint Count>
struct alignas(Count * sizeof(Quad<T>)) AdjacentQuads {
  Quad<T> quads[Count];
};

// Stores those of four columns that the row has.
template <bool Whole, bool Full = false, typename T>
inline void store_quad(device T* row, uint column, uint cols, float4 v) {
  if (Full || column + 4 <= cols) {
    if (Whole) {
      put_quad(row + column, 0, v);
    } else {
      using Packed = typename Widened<T>::Packed;
      *(device Packed*)(row + column) = Packed(Quad<T>(v));
    }
    return;
  }
  for (uint i = 0; i < (Whole ? 0u : 3u); ++i) {
    if (column + i < cols) {
      row[column + i] = T(v[i]);
    }
  }
}

template <typename T>
inline void store_quad(device T* row, uint column, uint cols, float4 v) {
  store_quad<false>(row, column, cols, v);
}

}  // namespace metalbench
