// mpp::tensor_ops::matmul2d, and the cooperative tensors that it gives.
#pragma once

#include "tensor_product.h"
#include "tensor_reductions.h"

namespace mb {

template <class T>
inline constexpr bool is_product_float = is_float<T> && sizeof(T) <= 4;
template <class T>
inline constexpr bool is_product_byte =
    __is_same(T, signed char) || __is_same(T, char) || __is_same(T, unsigned char);

// Whether Metal has a product of these element types.
template <class L, class R, class D>
constexpr bool has_matrix_product() {
  if (is_product_byte<L> && (is_product_byte<R> || is_four_bits<R>))
    return __is_same(D, int) || __is_same(D, float) || __is_same(D, half);
  if (is_product_float<L> && (is_product_float<R> || is_four_bits<R>)) return is_product_float<D>;
  return false;
}

template <class T>
struct operand_element {
  using type = void;
};
template <class E, class X, class D, class... T>
struct operand_element<metal::tensor<E, X, D, T...>> {
  using type = bare<E>;
};
template <class E, class X, class L>
struct operand_element<metal::cooperative_tensor<E, X, L>> {
  using type = E;
};

// Copy a matrix to another layout.
template <class E, class X, class From, class Y, class To>
MB_FUNC void copy_layout(const metal::cooperative_tensor<E, X, From>& source,
                         metal::cooperative_tensor<E, Y, To>& target) {
  using Layout = typename To::Layout;
  if constexpr (__is_same(typename From::Layout, Layout)) {
#pragma clang loop unroll(full)
    for (int i = 0; i < Layout::capacity; ++i) target.mb_element[i] = source.mb_element[i];
  } else {
    const LaneOperand<typename From::Layout, E, false> matrix(source.mb_element);
#pragma clang loop unroll(full)
    for (int i = 0; i < Layout::capacity; ++i) {
      const int row = Layout::row(int(lane()), Layout::row_slot(i));
      const int column = Layout::column(int(lane()), Layout::column_slot(i));
      const bool exists = row < Layout::rows && column < Layout::columns;
      target.mb_element[i] = matrix.template read<E>(exists ? row : 0, exists ? column : 0);
    }
    matrix.finish();
  }
}

}  // namespace mb

namespace mpp::tensor_ops {

template <matmul2d_descriptor Descriptor, class Scope, class... Arguments>
class matmul2d {
 public:
  static constexpr matmul2d_descriptor descriptor = Descriptor;
  using scope = Scope;

 private:
  template <mb::TensorRole role>
  using Elements =
      mb::MatrixElements<typename mb::tensor_layout<Descriptor, Scope, role>::type, Scope>;
  using Destination = Elements<mb::TensorRole::destination>;
  template <class E, class Coord, mb::TensorRole role, int rows, int columns>
  using Matrix = metal::cooperative_tensor<E, metal::extents<Coord, size_t(columns), size_t(rows)>,
                                           Elements<role>>;
  static constexpr bool is_simdgroup = mb::scope_traits<Scope>::is_simdgroup;

  template <class L, class R, class E>
  static constexpr void check_types() {
    using Left = typename mb::operand_element<mb::bare<L>>::type;
    using Right = typename mb::operand_element<mb::bare<R>>::type;
    if constexpr (!__is_void(Left) && !__is_void(Right))
      static_assert(mb::has_matrix_product<Left, Right, E>(),
                    "matmul2d has no product of these element types");
  }
  static constexpr void check_input() {
    static_assert(is_simdgroup, "cooperative inputs need execution_simdgroup");
    static_assert(Descriptor.mb_has_static_k(),
                  "cooperative inputs need a descriptor with a constant k");
  }

 public:
  template <class LE, class RE, class E, class Coord = int>
  using cooperative_tensor_left_input_t =
      Matrix<LE, Coord, mb::TensorRole::left, Descriptor.mb_left_rows(),
             Descriptor.mb_left_columns()>;
  template <class LE, class RE, class E, class Coord = int>
  using cooperative_tensor_right_input_t =
      Matrix<RE, Coord, mb::TensorRole::right, Descriptor.mb_right_rows(),
             Descriptor.mb_right_columns()>;
  template <class L, class R, class E, class Coord = int>
  using cooperative_tensor_destination_t =
      Matrix<E, Coord, mb::TensorRole::destination, Descriptor.m, Descriptor.n>;
  template <class L, class R, class E, class Coord = int>
  using cooperative_tensor_row_reduction_destination_t =
      metal::cooperative_tensor<E, metal::extents<Coord, size_t(Descriptor.m)>,
                                mb::RowElements<typename Destination::Layout, Scope>>;
  template <class L, class R, class E, class Coord = int>
  using cooperative_tensor_column_reduction_destination_t =
      metal::cooperative_tensor<E, metal::extents<Coord, size_t(Descriptor.n)>,
                                mb::ColumnElements<typename Destination::Layout, Scope>>;

  matmul2d() = default;

  template <class L, class R, class E, class Coord = int>
  MB_FUNC auto get_destination_cooperative_tensor() const {
    check_types<L, R, E>();
    return cooperative_tensor_destination_t<L, R, E, Coord>();
  }
  template <class L, class R, class E, class Coord = int>
  MB_FUNC auto get_row_reduction_destination_cooperative_tensor() const {
    static_assert(is_simdgroup, "reductions need execution_simdgroup");
    return cooperative_tensor_row_reduction_destination_t<L, R, E, Coord>();
  }
  template <class L, class R, class E, class Coord = int>
  MB_FUNC auto get_column_reduction_destination_cooperative_tensor() const {
    static_assert(is_simdgroup, "reductions need execution_simdgroup");
    return cooperative_tensor_column_reduction_destination_t<L, R, E, Coord>();
  }
  template <class LE, class RE, class E, class Coord = int>
  MB_FUNC auto get_left_input_cooperative_tensor() const {
    check_input();
    return cooperative_tensor_left_input_t<LE, RE, E, Coord>();
  }
  template <class LE, class RE, class E, class Coord = int>
  MB_FUNC auto get_right_input_cooperative_tensor() const {
    check_input();
    return cooperative_tensor_right_input_t<LE, RE, E, Coord>();
  }

  // The result of a product as the input of this one.
  template <class LE, class RE, class E, class Coord = int, class F, class X, class Other>
  MB_FUNC auto get_left_input_cooperative_tensor(
      const metal::cooperative_tensor<F, X, Other>& source) const {
    check_input();
    static_assert(!Descriptor.transpose_left, "a transposed input cannot be converted");
    return convert<cooperative_tensor_left_input_t<LE, RE, E, Coord>>(source);
  }
  template <class LE, class RE, class E, class Coord = int, class F, class X, class Other>
  MB_FUNC auto get_right_input_cooperative_tensor(
      const metal::cooperative_tensor<F, X, Other>& source) const {
    check_input();
    static_assert(!Descriptor.transpose_right, "a transposed input cannot be converted");
    return convert<cooperative_tensor_right_input_t<LE, RE, E, Coord>>(source);
  }
  template <class LE, class RE, class E, class Coord = int, class F, class X, class Other>
  MB_FUNC bool is_compatible_as_left_input(const metal::cooperative_tensor<F, X, Other>&) const {
    return is_compatible<cooperative_tensor_left_input_t<LE, RE, E, Coord>, F, Other>();
  }
  template <class LE, class RE, class E, class Coord = int, class F, class X, class Other>
  MB_FUNC bool is_compatible_as_right_input(const metal::cooperative_tensor<F, X, Other>&) const {
    return is_compatible<cooperative_tensor_right_input_t<LE, RE, E, Coord>, F, Other>();
  }

  // All threads of the scope call it, each with its own cooperative tensors.
  template <class L, class R, class D>
  MB_FUNC void run(L& left, R& right, D& destination) const {
    using Left = mb::bare<L>;
    using Right = mb::bare<R>;
    using Target = mb::bare<D>;
    check_types<Left, Right, typename Target::value_type>();
    if constexpr (mb::is_cooperative<Target>) {
      static_assert(__is_same(typename Target::layout_type, Destination),
                    "the destination belongs to a product of another shape or scope");
      mb::multiply_matrices<Descriptor, Scope>(static_cast<const Left&>(left),
                                               static_cast<const Right&>(right), destination);
    } else {
      auto sums = get_destination_cooperative_tensor<Left, Right, typename Target::value_type>();
      if constexpr (Descriptor.mb_accumulates()) sums.load(destination);
      mb::multiply_matrices<Descriptor, Scope>(static_cast<const Left&>(left),
                                               static_cast<const Right&>(right), sums);
      sums.store(destination);
    }
  }

 private:
  template <class Input, class F, class Other>
  static constexpr bool is_compatible() {
    using From = typename Other::Layout;
    using To = typename Input::layout_type::Layout;
    return __is_same(typename Input::element_type, F) && From::rows == To::rows &&
           From::columns == To::columns && __is_same(typename Other::Scope, Scope);
  }
  template <class Input, class F, class X, class Other>
  MB_FUNC static Input convert(const metal::cooperative_tensor<F, X, Other>& source) {
    static_assert(is_compatible<Input, F, Other>(),
                  "the tensor has another element type, size or scope than the input: ask "
                  "is_compatible_as_left_input or is_compatible_as_right_input first");
    Input input;
    mb::copy_layout(source, input);
    return input;
  }
};

}  // namespace mpp::tensor_ops
