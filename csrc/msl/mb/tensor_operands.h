// The operands of matrix products: views of memory, and cooperative tensors.
#pragma once

#include "cooperative_tensor.h"

namespace mb {

// The type in which products of two element types are summed.
template <class T>
inline constexpr bool is_integer_element = is_int<T> || is_four_bits<T>;
template <class L, class R>
using sum_of_products =
    typename conditional<is_integer_element<L> && is_integer_element<R>, int, float>::type;

// Return the element of four bits number `at`.
template <class E>
MB_FUNC int read_four_bits(const uchar* data, long at) {
  const int byte = data[at >> 1], bits = at & 1 ? byte >> 4 : byte & 15;
  return __is_same(E, metal::int4b_format) ? (bits ^ 8) - 8 : bits;
}

// An operand in memory: a left one by (row, k), a right one by (column, k). `outer` is the number
// of rows or columns, `depth` that of k; elements outside are zero.
template <class E>
struct MemoryOperand {
  static constexpr bool is_memory = true;
  using Element = E;
  using Memory = unspaced<__remove_cv(typename element_memory<E>::type)>;
  const Memory* data;
  long origin, outer_stride, depth_stride;
  int outer, depth;

  // The element must exist.
  template <class Sum>
  MB_FUNC Sum read(long at, long k) const {
    const long place = origin + at * outer_stride + k * depth_stride;
    if constexpr (is_four_bits<E>)
      return Sum(read_four_bits<E>(data, place));
    else
      return static_cast<Sum>(data[place]);
  }
};

MB_FUNC int at_most(long size, int limit) { return size < limit ? int(size) : limit; }
MB_FUNC int smaller_of(int a, int b) { return a < b ? a : b; }

// The operand that a tensor is. `outer` and `depth` are its dimensions for rows (columns) and k,
// and `size` the descriptor's number of rows (columns).
template <class Tensor>
MB_FUNC auto memory_operand(const Tensor& tensor, int outer, int depth, int size) {
  static_assert(Tensor::rank() == 2, "operands of a matrix product have two dimensions");
  using E = typename Tensor::value_type;
  using Memory = typename MemoryOperand<E>::Memory;
  return MemoryOperand<E>{(const Memory*)(tensor.mb_data),
                          tensor.mb_origin,
                          tensor.mb_strides[outer],
                          tensor.mb_strides[depth],
                          at_most(tensor.mb_limits[outer], size),
                          at_most(tensor.mb_limits[depth], 0x7fffffff)};
}

template <class T>
inline constexpr bool is_cooperative = false;
template <class E, class X, class L>
inline constexpr bool is_cooperative<metal::cooperative_tensor<E, X, L>> = true;

}  // namespace mb
