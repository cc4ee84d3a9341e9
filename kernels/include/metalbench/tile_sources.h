// Where the operands of a product (tiles.h) come from: *sources*, which fetch in quads, zeros
// outside of their matrix, so that nothing else knows its size. A source has
//   element         the type of its tile in threadgroup memory, the same of both sources
//   kAlongDepth     whether the four elements of a quad follow each other in depth
//   Line line(i)    what is to be known of row i of A or column i of B, found once
//   quad(line, k)   the quad at depth k
// and may have, for tiles that lie within its matrix, loads without a question, of 16 bytes each:
//   kHasAdjacent                   true
//   whole(i, extent, step)         whether `extent` rows or columns from i on are there, and
//   adjacent
//                                  quads may be loaded at every multiple of `step` of depth
//   adjacent<Count>(to, line, k, within)  Count quads that lie beside each other in memory, at
//   depth
//                                  k + within: k is where a tile begins, `within` the same in all
//                                  tiles
//   next(step)                     after a tile of such loads: a pointer that moves on by `step` of
//                                  depth replaces a product in the address of each load
#pragma once
#include <metal_stdlib>

#include "metalbench/inlined.h"
#include "metalbench/quads.h"

namespace metalbench {

using namespace metal;

template <uint Count, typename T, typename As>
INLINED void load_adjacent(thread Quad<As>* to, device const T* from) {
  const AdjacentQuads<T, Count> adjacent = *(device const AdjacentQuads<T, Count>*)from;
  UNROLLED
  for (uint i = 0; i < Count; ++i) {
    to[i] = Quad<As>(adjacent.quads[i]);
  }
}

// The same of a place that may lie outside of the memory: zeros.
template <uint Count, typename T, typename As>
INLINED void load_adjacent_if(bool is_there, thread Quad<As>* to, device const T* from) {
  if (is_there) {
    load_adjacent<Count>(to, from);
    return;
  }
  UNROLLED
  for (uint i = 0; i < Count; ++i) {
    to[i] = As(0);
  }
}

// Those of any source, which has none if it says nothing of them: the last argument chooses.
template <typename Source>
INLINED auto is_whole(thread const Source& source, uint first, uint extent, uint step, int)
    -> decltype(source.whole(first, extent, step)) {
  return source.whole(first, extent, step);
}
template <typename Source>
INLINED bool is_whole(thread const Source&, uint, uint, uint, long) {
  return false;
}
template <typename Source>
constexpr auto has_adjacent(int) -> decltype(bool(Source::kHasAdjacent)) {
  return true;
}
template <typename Source>
constexpr bool has_adjacent(long) {
  return false;
}
template <uint Count, typename Source, typename T>
INLINED auto take_adjacent(thread const Source& source, thread T* to,
                           thread const typename Source::Line& line, uint k, uint within, int)
    -> decltype(source.template adjacent<Count>(to, line, k, within)) {
  source.template adjacent<Count>(to, line, k, within);
}
template <uint Count, typename Source, typename T>
INLINED void take_adjacent(thread const Source&, thread T*, thread const typename Source::Line&,
                           uint, uint, long) {
  static_assert(!has_adjacent<Source>(0), "a source with kHasAdjacent has adjacent<Count>()");
}
template <typename Source>
INLINED auto take_next(thread Source& source, uint step, int) -> decltype(source.next(step)) {
  source.next(step);
}
template <typename Source>
INLINED void take_next(thread Source&, uint, long) {}

// The rows of a row-major matrix, along depth: A as it is, or a B that is stored transposed.
template <typename T, typename As = T>
struct MatrixRows {
  using element = As;
  using Line = device const T*;
  static constant constexpr bool kAlongDepth = true;
  static constant constexpr bool kHasAdjacent = true;
  device const T* data;
  uint rows;
  uint depth;

  INLINED Line line(uint row) const { return row < rows ? data + ulong(row) * depth : nullptr; }

  INLINED bool whole(uint first, uint extent, uint step) const {
    return first + extent <= rows && depth % step == 0;
  }
  template <uint Count>
  INLINED void adjacent(thread Quad<As>* to, thread const Line& from, uint k, uint within) const {
    load_adjacent<Count>(to, from + within + k);
  }

  INLINED Quad<As> quad(thread const Line& from, uint k) const {
    if (!from || k >= depth) {
      return Quad<As>(As(0));
    }
    return Quad<As>(depth % 4 == 0 ? quad_at(from + k, 0) : load_quad(from, k, depth));
  }
};

// The same of some neighbouring columns, `depth` of them, of rows that are `pitch` elements apart.
template <typename T, typename As = T>
struct SlicedRows {
  using element = As;
  using Line = device const T*;
  static constant constexpr bool kAlongDepth = true;
  device const T* data;
  uint rows;
  uint depth;
  uint pitch;

  INLINED Line line(uint row) const { return row < rows ? data + ulong(row) * pitch : nullptr; }
  INLINED Quad<As> quad(thread const Line& from, uint k) const {
    return from && k < depth ? Quad<As>(load_quad(from, k, depth)) : Quad<As>(As(0));
  }
};

// The columns of a row-major matrix whose rows are `pitch` elements apart: B as it is.
template <typename T, typename As = T>
struct MatrixColumns {
  using element = As;
  using Line = uint;
  static constant constexpr bool kAlongDepth = false;
  static constant constexpr bool kHasAdjacent = true;
  device const T* data;
  uint depth;
  uint cols;
  uint pitch;

  INLINED Line line(uint column) const { return column; }

  INLINED bool whole(uint first, uint extent, uint step) const {
    return first + extent <= cols && (cols | pitch) % 8 == 0 && depth % step == 0;
  }
  template <uint Count>
  INLINED void adjacent(thread Quad<As>* to, thread const Line& column, uint, uint within) const {
    load_adjacent<Count>(to, data + (ulong(within) * pitch + column));
  }
  INLINED void next(uint step) { data += ulong(step) * pitch; }

  INLINED Quad<As> quad(thread const Line& column, uint k) const {
    device const T* row = data + ulong(k) * pitch;
    if (k >= depth || column >= cols) {
      return Quad<As>(As(0));
    }
    return Quad<As>((cols | pitch) % 4 == 0 ? quad_at(row + column, 0)
                                            : load_quad(row, column, cols));
  }
};

// Two matrices as one, four columns of the first and then four of the second: a SIMD-group has both
// products of an element in neighbouring quads.
template <typename T, typename As = T>
struct PairedColumns {
  using element = As;
  struct Line {
    device const T* data;
    uint column;
  };
  static constant constexpr bool kAlongDepth = false;
  device const T* first;
  device const T* second;
  uint depth;
  uint cols;
  uint pitch;

  INLINED Line line(uint column) const { return {column % 8 ? second : first, column / 8 * 4}; }

  INLINED Quad<As> quad(thread const Line& of, uint k) const {
    device const T* row = of.data + ulong(k) * pitch;
    return Quad<As>(k < depth ? load_quad(row, of.column, cols) : float4(0.0f));
  }
};

// A source from depth `first` on, which is a multiple of four.
template <typename Source>
struct FromDepth {
  using element = typename Source::element;
  using Line = typename Source::Line;
  static constant constexpr bool kAlongDepth = Source::kAlongDepth;
  static constant constexpr bool kHasAdjacent = has_adjacent<Source>(0);
  Source source;
  uint first;

  INLINED Line line(uint i) const { return source.line(i); }
  INLINED bool whole(uint from, uint extent, uint step) const {
    return first % step == 0 && is_whole(source, from, extent, step, 0);
  }
  // A source that moves on with next() begins at depth 0.
  template <uint Count>
  INLINED void adjacent(thread Quad<element>* to, thread const Line& from, uint k,
                        uint within) const {
    take_adjacent<Count>(source, to, from, k, first + within, 0);
  }
  INLINED void next(uint step) { take_next(source, step, 0); }
  INLINED Quad<element> quad(thread const Line& from, uint k) const {
    return source.quad(from, first + k);
  }
};

}  // namespace metalbench
