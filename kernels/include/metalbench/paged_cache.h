// Caches in pages, as servers of many texts keep them: a row of a table says which pages are a
// text's. Rows of a page lie side by side for each kv head. PagedCache is for split_decode.h,
// PagedRows for attention.h.
#pragma once
#include "metalbench/divisor.h"
#include "metalbench/quads.h"

namespace metalbench {

// Where the rows of one head are: its row 0 in page 0, which pages are the text's, rows of a page,
// and elements from a page to the next.
template <typename T>
struct Pages {
  device const T* first;
  device const uint* table;
  Divisor page;
  uint pitch;
  uint dims;

  // Where row i begins, from `first` on.
  INLINED ulong offset(uint i) const {
    const uint number = page.quotient(i);
    return ulong(table[number]) * pitch + (i - number * page.value) * dims;
  }
};

template <typename T>
struct PagedCache {
  using Four = float4;
  Pages<T> k;
  device const T* v;
  float4 key(uint i, uint column) const { return load_quad(k.first + k.offset(i), column, k.dims); }
  float4 value(uint i, uint column) const { return load_quad(v + k.offset(i), column, k.dims); }
  bool seen(uint) const { return true; }
};

// The first `rows` of them.
template <typename T>
struct PagedRows {
  Pages<T> pages;
  uint rows;
  Quad<T> quad(uint row, uint column) const {
    return Quad<T>(load_quad(pages.first + pages.offset(row), column, pages.dims));
  }
};

}  // namespace metalbench
