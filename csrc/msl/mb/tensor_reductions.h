// Reductions of the rows or columns of a cooperative tensor of a SIMD-group.
#pragma once

#include "limits.h"
#include "simd_functions.h"
#include "tensor_exchange.h"

namespace mpp::tensor_ops {

enum class reduction_operation { sum, max, min };

template <class T>
struct reduction_operation_identity {
  static constexpr T sum_identity = T(0);
  static constexpr T max_identity = metal::numeric_limits<T>::has_infinity
                                        ? T(-metal::numeric_limits<T>::infinity())
                                        : metal::numeric_limits<T>::lowest();
  static constexpr T min_identity = metal::numeric_limits<T>::has_infinity
                                        ? metal::numeric_limits<T>::infinity()
                                        : metal::numeric_limits<T>::max();
};

}  // namespace mpp::tensor_ops

namespace mb {

template <class E>
MB_FUNC E reduce_two(mpp::tensor_ops::reduction_operation op, E a, E b) {
  using Operation = mpp::tensor_ops::reduction_operation;
  if (op == Operation::sum) return E(a + b);
#ifdef __NVPTX__
  if constexpr (__is_same(E, float))
    return op == Operation::max ? __nvvm_fmax_f(a, b) : __nvvm_fmin_f(a, b);
#endif
  // As max and min: a number and a NaN give the number.
  if (op == Operation::max) return a < b || a != a ? b : a;
  return b < a || a != a ? b : a;
}

// Combine the values of lanes that differ in the bits of `mask`.
template <u32 mask, class E>
MB_FUNC E reduce_lanes(mpp::tensor_ops::reduction_operation op, E x) {
#pragma clang loop unroll(full)
  for (u32 bit = 1; bit < simd_width; bit *= 2) {
    if ((mask & bit) == 0) continue;
#if MB_GPU
    // All lanes reduce together.
    x = reduce_two(op, x, value_of(all_lanes, x, lane() ^ bit));
#else
    x = reduce_two(op, x, E(metal::simd_shuffle_xor(x, ushort(bit))));
#endif
  }
  return x;
}

// Slots of the result and of what it reduces, along rows or along columns.
template <class Layout, bool rows>
struct ReductionSlots {
  static constexpr int results = rows ? Layout::row_slots : Layout::column_slots;
  static constexpr int values = rows ? Layout::column_slots : Layout::row_slots;
  static constexpr u32 mask = rows ? Layout::column_mask : Layout::row_mask;
  static constexpr int index(int result, int value) {
    return rows ? Layout::index(result, value) : Layout::index(value, result);
  }
};

template <bool rows, class E, class X, class Elements, class Y, class Results>
MB_FUNC void reduce_cooperative(const metal::cooperative_tensor<E, X, Elements>& source,
                                metal::cooperative_tensor<E, Y, Results>& destination,
                                mpp::tensor_ops::reduction_operation op, E identity) {
  using Layout = typename Elements::Layout;
  using Slots = ReductionSlots<Layout, rows>;
  static_assert(scope_traits<typename Elements::Scope>::is_simdgroup,
                "reductions are for a scope of one SIMD-group");
  static_assert(map_element<Results, Elements>::is_compatible,
                "the destination comes from get_row_reduction_destination_cooperative_tensor or "
                "get_column_reduction_destination_cooperative_tensor of the same product");
#pragma clang loop unroll(full)
  for (int result = 0; result < Slots::results; ++result) {
    E all = identity;
#pragma clang loop unroll(full)
    for (int value = 0; value < Slots::values; ++value) {
      const int i = Slots::index(result, value);
      const bool exists = Elements::is_exact || Elements::exists(i);
      const E reduced = reduce_two(op, all, source.mb_element[i]);
      all = exists ? reduced : all;
    }
    destination.mb_element[result] = reduce_lanes<Slots::mask>(op, all);
  }
}

}  // namespace mb

namespace mpp::tensor_ops {

template <class E, class X, class Elements, class Y, class Results>
MB_FUNC void reduce_rows(const metal::cooperative_tensor<E, X, Elements>& source,
                         metal::cooperative_tensor<E, Y, Results>& destination,
                         reduction_operation op = reduction_operation::sum,
                         mb::same<E> identity = E(0)) {
  mb::reduce_cooperative<true>(source, destination, op, identity);
}
template <class E, class X, class Elements, class Y, class Results>
MB_FUNC void reduce_columns(const metal::cooperative_tensor<E, X, Elements>& source,
                            metal::cooperative_tensor<E, Y, Results>& destination,
                            reduction_operation op = reduction_operation::sum,
                            mb::same<E> identity = E(0)) {
  mb::reduce_cooperative<false>(source, destination, op, identity);
}

// Whether an iterator of `source` can be mapped to an element of `destination`.
template <class E, class X, class Elements, class F, class Y, class Others>
MB_FUNC constexpr bool is_iterator_compatible(const metal::cooperative_tensor<E, X, Elements>&,
                                              const metal::cooperative_tensor<F, Y, Others>&) {
  return mb::map_element<Others, Elements>::is_compatible;
}

}  // namespace mpp::tensor_ops
