// Operands of matrix products that other lanes of the SIMD-group hold.
#pragma once

#include "tensor_operands.h"

#if MB_GPU || MB_VECTOR

namespace mb {

struct ElementShuffle {
  template <class E>
  MB_FUNC E operator()(E value, u32 from) const {
    return shuffle_element(value, from);
  }
};

// Return the element (row, column), which may differ from lane to lane, of a matrix that is
// distributed over a SIMD-group. `Shuffle` returns a value of another lane.
template <class Layout, class Shuffle = ElementShuffle, class E>
MB_FUNC E fetch_element(const E* elements, int row, int column) {
  const u32 owner = Layout::owner(row, column);
  const int index = Layout::owned_index(row, column);
  E found = E(0);
#pragma clang loop unroll(full)
  for (int i = 0; i < Layout::capacity; ++i) {
    const E value = Shuffle()(elements[i], owner);
    found = index == i ? value : found;
  }
  return found;
}

// `transposed`: the matrix is stored with k as its rows.
template <class Layout, class E, bool transposed>
struct LaneOperand {
  static constexpr bool is_memory = false;
  using Element = E;
  static constexpr int outer = transposed ? Layout::columns : Layout::rows;
  static constexpr int depth = transposed ? Layout::rows : Layout::columns;
  const E* elements;

  MB_FUNC explicit LaneOperand(const E* own) : elements(own) {}
  template <class Sum>
  MB_FUNC Sum read(long at, long k) const {
    const int row = int(transposed ? k : at), column = int(transposed ? at : k);
    return static_cast<Sum>(fetch_element<Layout>(elements, row, column));
  }
  MB_FUNC void finish() const {}
};

}  // namespace mb

#else
#include "cpu/fiber_exchange.h"
#endif
