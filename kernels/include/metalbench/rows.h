// Rows of a matrix as kernels with one threadgroup a row read them: quads by column, where thread t
// has columns 4 (t + k Threads) and up. The first Keep of them stay in its registers, so that the
// row is read once; what a longer row has beyond is read again, from the cache.
//
// Only the last quad of a row can be partial. Loops over the quads that are kept are unrolled: the
// last one is loaded before them and stored after them, so that they consist of whole quads
// (`kept`). Other loops load it when they reach it, as holding it takes registers.
#pragma once
#include "metalbench/quads.h"

namespace metalbench {

// The last quad of a row if it is partial, else `beyond`.
template <bool Whole, typename T>
inline float4 load_last_quad(device const T* row, uint cols, float beyond) {
  return Whole || cols % 4 == 0 ? float4(beyond)
                                : load_quad<false>(row, cols - cols % 4, cols, beyond);
}

// A row; `beyond` its end it has a value that changes nothing. Where `Whole` it is one of a matrix
// whose rows are whole quads. `last` is its last quad if that is partial.
template <typename T, bool Whole = false>
struct Row {
  device const T* at;
  uint cols;
  float4 last;
  float beyond;

  Row(device const T* at, uint cols, float beyond)
      : at(at), cols(cols), last(load_last_quad<Whole>(at, cols, beyond)), beyond(beyond) {}

  float4 kept(uint column) const {
    if (column + 4 <= cols) {
      return load_quad<Whole, true>(at, column, cols);
    }
    return Whole || column >= cols ? float4(beyond) : last;
  }

  float4 operator()(uint column) const { return load_quad<Whole>(at, column, cols, beyond); }
};

// A row that its threads replace: each reads only the quads that it stores itself. Another thread
// may have stored its own already, as no barrier orders accesses of device memory.
template <typename T>
struct RowInPlace {
  device const T* at;
  uint cols;
  float beyond;

  float4 kept(uint column) const { return load_quad(at, column, cols, beyond); }

  float4 operator()(uint column) const { return load_quad(at, column, cols, beyond); }
};

// The sum of two rows, which is never stored.
template <typename T, bool Whole = false>
struct RowSum {
  device const T* at;
  device const T* added;
  uint cols;
  float4 last;
  float beyond;

  RowSum(device const T* at, device const T* added, uint cols, float beyond)
      : at(at),
        added(added),
        cols(cols),
        last(load_last_quad<Whole>(at, cols, beyond) + load_last_quad<Whole>(added, cols, 0.0f)),
        beyond(beyond) {}

  float4 kept(uint column) const {
    if (column + 4 <= cols) {
      return load_quad<Whole, true>(at, column, cols) + load_quad<Whole, true>(added, column, cols);
    }
    return Whole || column >= cols ? float4(beyond) : last;
  }

  float4 operator()(uint column) const {
    if (column + 4 <= cols) {
      return load_quad<Whole, true>(at, column, cols) + load_quad<Whole, true>(added, column, cols);
    }
    return load_quad<Whole>(at, column, cols, beyond) + load_quad<Whole>(added, column, cols);
  }
};

// Of what rows of whole quads are made of: such a row can be stored to as well.
template <typename Source>
constant constexpr bool kWhole = false;
template <typename T>
constant constexpr bool kWhole<Row<T, true>> = true;
template <typename T>
constant constexpr bool kWhole<RowSum<T, true>> = true;

template <bool Whole = false, typename T>
inline Row<T, Whole> row_of(device const T* matrix, uint row, uint cols, float beyond = 0.0f) {
  return {matrix + ulong(row) * cols, cols, beyond};
}

template <typename T>
inline RowInPlace<T> row_in_place(device const T* matrix, uint row, uint cols,
                                  float beyond = 0.0f) {
  return {matrix + ulong(row) * cols, cols, beyond};
}

template <bool Whole = false, typename T>
inline RowSum<T, Whole> row_of_sum(device const T* matrix, device const T* added, uint row,
                                   uint cols, float beyond = 0.0f) {
  return {matrix + ulong(row) * cols, added + ulong(row) * cols, cols, beyond};
}

// Stores quads as they are. A `Put` has put<Full>(column, quad), where `Full` says that the row has
// all four columns, and kIsWhole if rows are whole quads.
template <typename T, bool Whole = false>
struct ToRow {
  static constant constexpr bool kIsWhole = Whole;
  device T* y;
  uint cols;
  template <bool Full>
  void put(uint column, float4 v) const {
    store_quad<Whole, Full>(y, column, cols, v);
  }
};

// (v - shift) * scale
struct ShiftScale {
  float shift;
  float scale;
  float4 operator()(float4 v) const { return (v - shift) * scale; }
};

// Puts map(quad) of the quads that a thread keeps of a row.
template <uint Keep, typename Map, typename Put>
inline void put_kept(Put to, Map map, thread const float4 (&kept)[Keep], uint cols,
                     uint thread_index, uint threads) {
  float4 last = 0.0f;
  bool has_last = false;
  UNROLLED_ON_GPU
  for (uint i = 0; i < Keep; ++i) {
    const uint column = 4 * (thread_index + i * threads);
    if (column + 4 <= cols) {
      to.template put<true>(column, map(kept[i]));
    } else if (!Put::kIsWhole && column < cols) {
      last = map(kept[i]);
      has_last = true;
    }
  }
  if (has_last) {
    to.template put<false>(cols - cols % 4, last);
  }
}

}  // namespace metalbench
