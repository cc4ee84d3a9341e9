// Recurrent cells as one product: the layer's input and its last state, one behind the other along
// depth, times the weights of both, whose rows are taken gate by gate of one unit after the other.
// A quad of the sums then is what one unit's gates are made of.
#pragma once
#include "metalbench/tiles.h"

namespace metalbench {

// Two matrices side by side, each to a depth of whole quads.
template <typename T, typename Rows = MatrixRows<T>>
struct JoinedRows {
  using element = T;
  struct Line {
    device const T* first;
    device const T* second;
  };
  static constant constexpr bool kAlongDepth = true;
  Rows first;
  Rows second;

  uint split() const { return (first.depth + 3) / 4 * 4; }
  uint depth() const { return split() + second.depth; }
  INLINED Line line(uint row) const { return {first.line(row), second.line(row)}; }
  INLINED Quad<T> quad(thread const Line& from, uint k) const {
    return k < split() ? first.quad(from.first, k) : second.quad(from.second, k - split());
  }
};

// Weights (gates * units, inputs) and (gates * units, units) of a cell with four sums a unit: sum
// number g is that of gate g of both, where the cell has them. Gates is what follows, as types:
// input(g) and state(g) are which gate of the weights, 4 for none.
template <typename T, typename Gates>
struct GateRows {
  using element = T;
  using Line = typename JoinedRows<T>::Line;
  static constant constexpr bool kAlongDepth = true;
  JoinedRows<T> weights;
  uint units;

  INLINED Line line(uint i) const {
    const uint unit = i / 4;
    const uint input = Gates::input(i % 4), state = Gates::state(i % 4);
    const bool inside = unit < units;
    return {inside && input < 4 ? weights.first.line(input * units + unit) : nullptr,
            inside && state < 4 ? weights.second.line(state * units + unit) : nullptr};
  }
  INLINED Quad<T> quad(thread const Line& from, uint k) const { return weights.quad(from, k); }
};

}  // namespace metalbench
