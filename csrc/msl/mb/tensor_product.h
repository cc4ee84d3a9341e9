// Products of matrices in memory or in registers, for the threads of a scope.
#pragma once

#include "tensor_exchange.h"
#if MB_VECTOR
#include "cpu/tensor_fragments.h"
#elif MB_GPU
#include "gpu/warp_product.h"
#endif

namespace mb {

// Add a thread's elements of the product to `sums`. Where an operand has no such row or column, the
// sums stay. The loop over k is the outermost, so that `sums` are registers and each element of an
// operand is read once.
template <class Layout, class Sum, class Left, class Right>
MB_FUNC void add_product(Sum* sums, int thread, const Left& left, const Right& right, int depth) {
  if (left.outer <= 0 || right.outer <= 0) return;
  // Threads without an element read the last one that exists, and ignore the sum.
  Sum found[Layout::capacity];
#pragma clang loop unroll(full)
  for (int i = 0; i < Layout::capacity; ++i) found[i] = sums[i];
  for (int k = 0; k < depth; ++k) {
    Sum factor[Layout::row_slots];
#pragma clang loop unroll(full)
    for (int r = 0; r < Layout::row_slots; ++r) {
      const int row = Layout::row(thread, r);
      factor[r] = left.template read<Sum>(row < left.outer ? row : left.outer - 1, k);
    }
#pragma clang loop unroll(full)
    for (int c = 0; c < Layout::column_slots; ++c) {
      const int column = Layout::column(thread, c);
      const Sum other =
          right.template read<Sum>(column < right.outer ? column : right.outer - 1, k);
#pragma clang loop unroll(full)
      for (int r = 0; r < Layout::row_slots; ++r) {
        Sum& sum = found[Layout::index(r, c)];
        sum = sum + factor[r] * other;
      }
    }
  }
#pragma clang loop unroll(full)
  for (int i = 0; i < Layout::capacity; ++i) {
    const int row = Layout::row(thread, Layout::row_slot(i));
    const int column = Layout::column(thread, Layout::column_slot(i));
    sums[i] = row < left.outer && column < right.outer ? found[i] : sums[i];
  }
}

// The operand that a tensor or a cooperative tensor is. Left ones have rows as `outer`, right ones
// columns. A stored matrix has the extents (columns, rows), and k as its rows or as its columns.
template <bool k_is_rows, class E, class X, class L>
MB_FUNC auto make_operand(const metal::cooperative_tensor<E, X, L>& tensor, int) {
  return LaneOperand<typename L::Layout, E, k_is_rows>(tensor.mb_element);
}
template <bool k_is_rows, class E, class X, class D, class... T>
MB_FUNC auto make_operand(const metal::tensor<E, X, D, T...>& tensor, int size) {
  return memory_operand(tensor, k_is_rows ? 0 : 1, k_is_rows ? 1 : 0, size);
}
template <class Operand>
MB_FUNC void finish_operand(const Operand& operand) {
  if constexpr (!Operand::is_memory) operand.finish();
}

#if MB_SHADOW
template <class E, class X, class L>
MB_FUNC void expect_given_operand(const metal::cooperative_tensor<E, X, L>& tensor) {
  for (int i = 0; i < L::capacity; ++i) {
    if (L::exists(i))
      expect_given(&tensor.mb_element[i], sizeof(E),
                   "an uninitialised element of a cooperative tensor is used by a product");
  }
}
template <class E, class X, class D, class... T>
MB_FUNC void expect_given_operand(const metal::tensor<E, X, D, T...>&) {}
#else
template <class T>
MB_FUNC void expect_given_operand(const T&) {}
#endif

#if MB_HOPPER
// Whether both operands are in memory, with the same elements of 16 bits.
template <class L, class R>
inline constexpr bool is_warpgroup_element =
    is_tensor<L> && is_tensor<R> && is_half_float<typename L::value_type> &&
    __is_same(typename L::value_type, typename R::value_type);
#endif

#if MB_GPU
// Whether tensor cores of one warp multiply the operands: their elements are of one type, and sums
// have the layout for it.
template <mpp::tensor_ops::matmul2d_descriptor D, class L, class R, class Scope>
constexpr bool is_warp_product() {
  if (D.mb_has_static_k() && D.k % 16 != 0) return false;
  if (is_cooperative<L> && !tensor_layout<D, Scope, TensorRole::left>::is_warp) return false;
  if (is_cooperative<R> && !tensor_layout<D, Scope, TensorRole::right>::is_warp) return false;
  return tensor_layout<D, Scope, TensorRole::destination>::is_warp &&
         has_fragment_product<typename L::value_type, typename R::value_type>;
}

// Whether both operands are fragments in registers, of a type that tensor cores have.
template <mpp::tensor_ops::matmul2d_descriptor D, class L, class R, class Scope>
constexpr bool is_fragment_product() {
  if constexpr (is_cooperative<L> && is_cooperative<R>)
    return tensor_layout<D, Scope, TensorRole::destination>::is_fragment &&
           has_fragment_product<typename L::value_type, typename R::value_type>;
  else
    return false;
}
#endif

#if MB_CHECKED
[[gnu::noinline, gnu::cold, clang::nomerge,
  clang::not_tail_called]] MB_UNTRACED static void expect_scope(u32 threads) {
  const Fiber* self = current();
  if (self->bundle->group->threads == threads) return;
  self->bundle->group->runtime->fail(
      current(),
      "SIMD-groups of a product: their number in execution_simdgroups is not that of the "
      "threadgroup",
      __builtin_return_address(0));
}
// The threads of a scope reach a product together, and are those of the threadgroup if the scope
// has several SIMD-groups.
template <class Scope>
MB_FUNC void expect_scope() {
  if constexpr (scope_traits<Scope>::threads > int(simd_width))
    expect_scope(u32(scope_traits<Scope>::threads));
  if constexpr (scope_traits<Scope>::threads > 1) expect_all_lanes();
}
#else
template <class Scope>
MB_FUNC void expect_scope() {}
#endif

// destination = left right, or += : the elements of this thread.
template <mpp::tensor_ops::matmul2d_descriptor D, class Scope, class L, class R, class E, class X,
          class Elements>
MB_FUNC void multiply_matrices(const L& left, const R& right,
                               metal::cooperative_tensor<E, X, Elements>& destination) {
  using Layout = typename Elements::Layout;
  using Sum = sum_of_products<typename L::value_type, typename R::value_type>;
#if MB_VECTOR
  if constexpr (scope_traits<Scope>::threads > 1) {
    multiply_by_lanes<D, Scope, Sum>(left, right, destination);
    return;
  }
#endif
#if MB_GPU
  if constexpr (is_fragment_product<D, L, R, Scope>()) {
    multiply_fragments<D, typename L::value_type, typename L::layout_type::Layout,
                       typename R::layout_type::Layout, Layout>(left.mb_element, right.mb_element,
                                                                destination.mb_element);
    return;
  }
#endif
  expect_scope<Scope>();
  expect_given_operand(left);
  expect_given_operand(right);
  if constexpr (D.mb_accumulates()) expect_given_operand(destination);
  Sum sums[Layout::capacity];
#pragma clang loop unroll(full)
  for (int i = 0; i < Layout::capacity; ++i)
    sums[i] = D.mb_accumulates() ? static_cast<Sum>(destination.mb_element[i]) : Sum(0);
  const auto a = make_operand<D.transpose_left>(left, D.m);
  const auto b = make_operand<!D.transpose_right>(right, D.n);
  int depth = smaller_of(a.depth, b.depth);
  if constexpr (D.mb_has_static_k()) depth = smaller_of(depth, D.k);
#if MB_HOPPER
  if constexpr (tensor_layout<D, Scope, TensorRole::destination>::is_warpgroup &&
                is_warpgroup_element<L, R>) {
    add_product_by_warpgroups<Layout, Scope, __is_same(typename L::value_type, half),
                              !D.transpose_left, D.transpose_right>(sums, a, b, depth);
  } else
#endif
#if MB_GPU
      if constexpr (is_warp_product<D, L, R, Scope>()) {
    add_product_by_warp<Layout, typename L::value_type, !D.transpose_left, D.transpose_right,
                        is_cooperative<L> || is_cooperative<R> ? D.k : 0>(sums, a, b, depth);
  } else
#endif
    add_product<Layout>(sums, scope_traits<Scope>::thread(), a, b, depth);
  finish_operand(a);
  finish_operand(b);
#pragma clang loop unroll(full)
  for (int i = 0; i < Layout::capacity; ++i) destination.mb_element[i] = static_cast<E>(sums[i]);
}

}  // namespace mb
