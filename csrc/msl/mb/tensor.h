// metal::tensor: a view of memory with extents and strides. Operations clip what they access to the
// extents of the tensor that a slice comes from.
#pragma once

#include "tensor_extents.h"

// Elements of four bits, two in a byte, the first in the low half. They are only operands.
struct int4b_format {};
struct uint4b_format {};

namespace metal {

// How a tensor is described: by a resource of the host, by values in the kernel, and as a part of a
// resource.
struct tensor_handle {};
struct tensor_inline {};
struct tensor_offset {};

using ::int4b_format;
using ::uint4b_format;

template <class ElementType, class Extents, class Descriptor = tensor_handle, class... Tags>
class tensor;

}  // namespace metal

namespace mb {

template <class E>
inline constexpr bool is_four_bits =
    __is_same(E, metal::int4b_format) || __is_same(E, metal::uint4b_format);

// Memory of an element, with the element's qualifiers and address space: bytes for four bits.
template <class E>
struct element_memory {
  using type = E;
};
template <>
struct element_memory<metal::int4b_format> {
  using type = uchar;
};
template <>
struct element_memory<metal::uint4b_format> {
  using type = uchar;
};
template <>
struct element_memory<const metal::int4b_format> {
  using type = const uchar;
};
template <>
struct element_memory<const metal::uint4b_format> {
  using type = const uchar;
};
#if MB_SPACES
#define MB_FOUR_BITS(E, space)           \
  template <>                            \
  struct element_memory<space E> {       \
    using type = space uchar;            \
  };                                     \
  template <>                            \
  struct element_memory<space const E> { \
    using type = space const uchar;      \
  };
#define MB_FOUR_BITS_IN(space)             \
  MB_FOUR_BITS(metal::int4b_format, space) \
  MB_FOUR_BITS(metal::uint4b_format, space)
MB_FOUR_BITS_IN(__attribute__((opencl_global_device)))
MB_FOUR_BITS_IN(__attribute__((opencl_global_host)))
MB_FOUR_BITS_IN(MB_IN_THREADGROUP)
#undef MB_FOUR_BITS
#undef MB_FOUR_BITS_IN
#endif

template <class T>
inline constexpr bool is_tensor = false;
template <class E, class X, class D, class... T>
inline constexpr bool is_tensor<metal::tensor<E, X, D, T...>> = true;

template <class D, class... Tags>
inline constexpr bool has_tag = (__is_same(D, Tags) || ... || false);

}  // namespace mb

namespace metal {

template <class ElementType, class Extents, class Descriptor, class... Tags>
class tensor {
  static_assert(__is_same(Descriptor, tensor_handle) || __is_same(Descriptor, tensor_inline),
                "a tensor is described by tensor_handle or tensor_inline");
  static_assert(Extents::rank() > 0 && Extents::rank() <= 16, "a tensor has 1 to 16 dimensions");

 public:
  using element_type = ElementType;
  using value_type = mb::bare<ElementType>;
  using extents_type = Extents;
  using index_type = typename Extents::index_type;
  using size_type = size_t;
  using rank_type = size_t;
  using data_handle_type = __add_pointer(typename mb::element_memory<ElementType>::type);

  static constexpr rank_type rank() { return Extents::rank(); }
  static constexpr rank_type get_rank() { return Extents::rank(); }
  static constexpr size_t static_extent(rank_type i) { return Extents::static_extent(i); }

  tensor() = default;
  // Rows are dense unless strides in elements are given, that of dimension 0 first.
  MB_FUNC constexpr tensor(data_handle_type data, const Extents& sizes = Extents())
      : mb_data(data), mb_sizes(sizes) {
    long stride = 1;
    for (rank_type i = 0; i < rank(); ++i) {
      mb_strides[i] = stride;
      mb_limits[i] = long(sizes.extent(i));
      stride *= long(sizes.extent(i));
    }
  }
  template <class I, unsigned long count>
  MB_FUNC constexpr tensor(data_handle_type data, const Extents& sizes,
                           const array<I, count>& strides)
      : mb_data(data), mb_sizes(sizes) {
    static_assert(count == Extents::rank(), "one stride for each dimension");
    for (rank_type i = 0; i < rank(); ++i) {
      mb_strides[i] = long(strides[i]);
      mb_limits[i] = long(sizes.extent(i));
    }
  }

  MB_FUNC constexpr index_type get_extent(rank_type i) const { return mb_sizes.extent(i); }
  MB_FUNC constexpr index_type extent(rank_type i) const { return mb_sizes.extent(i); }
  MB_FUNC constexpr const Extents& extents() const { return mb_sizes; }
  MB_FUNC constexpr const Extents& get_extents() const { return mb_sizes; }
  MB_FUNC constexpr index_type get_stride(rank_type i) const { return index_type(mb_strides[i]); }
  MB_FUNC constexpr index_type stride(rank_type i) const { return index_type(mb_strides[i]); }
  MB_FUNC constexpr data_handle_type data_handle() const {
    static_assert(!mb::is_four_bits<value_type>, "elements of four bits have no address");
    return mb_data + mb_origin;
  }

  // Indices in the order of the dimensions, the innermost first.
  template <class... I>
  MB_FUNC constexpr ElementType& operator[](I... index) const {
    static_assert(sizeof...(I) == Extents::rank(), "one index for each dimension of the tensor");
    static_assert(!mb::is_four_bits<value_type>, "elements of four bits have no address");
    const long each[] = {long(index)...};
    long at = mb_origin;
    for (rank_type i = 0; i < rank(); ++i) at += each[i] * mb_strides[i];
    return mb_data[at];
  }

  // Move the origin. The slice ends where the tensor ends.
  template <class... I>
  MB_FUNC constexpr auto slice(I... origin) const {
    static_assert(sizeof...(I) == Extents::rank(), "one index for each dimension of the tensor");
    dextents<index_type, Extents::rank()> sizes;
    return mb_slice(
        mb_fill(
            sizes, [&](rank_type i, long at) { return long(get_extent(i)) - at; }, origin...),
        origin...);
  }
  // A slice of constant sizes. A dimension of dynamic_extent ends where the tensor ends.
  template <size_t... Sizes, class... I>
    requires(sizeof...(Sizes) == Extents::rank())
  MB_FUNC constexpr auto slice(I... origin) const {
    static_assert(sizeof...(I) == Extents::rank(), "one index for each dimension of the tensor");
    metal::extents<index_type, Sizes...> sizes;
    constexpr size_t wanted[] = {Sizes...};
    return mb_slice(mb_fill(
                        sizes,
                        [&](rank_type i, long at) {
                          return wanted[i] == dynamic_extent ? long(get_extent(i)) - at
                                                             : long(wanted[i]);
                        },
                        origin...),
                    origin...);
  }

  // For operations: the memory, the element at the origin, and in elements of each dimension the
  // stride and the number of those that exist.
  data_handle_type mb_data;
  Extents mb_sizes;
  long mb_origin = 0;
  long mb_strides[Extents::rank()];
  long mb_limits[Extents::rank()];

 private:
  template <class Sizes, class Size, class... I>
  MB_FUNC static constexpr Sizes mb_fill(Sizes, Size size, I... origin) {
    const long at[] = {long(origin)...};
    return mb_expand<Sizes>(size, at, make_index_sequence<Extents::rank()>());
  }
  template <class Sizes, class Size, unsigned long... i>
  MB_FUNC static constexpr Sizes mb_expand(Size size, const long* at, index_sequence<i...>) {
    return Sizes(mb_at_least_zero(size(i, at[i]))...);
  }
  MB_FUNC static constexpr long mb_at_least_zero(long size) { return size < 0 ? 0 : size; }

  template <class Sizes, class... I>
  MB_FUNC constexpr auto mb_slice(const Sizes& sizes, I... origin) const {
    using Slice = typename mb::conditional<__is_same(Descriptor, tensor_handle),
                                           tensor<ElementType, Sizes, tensor_handle, tensor_offset>,
                                           tensor<ElementType, Sizes, tensor_inline>>::type;
    Slice slice;
    const long at[] = {long(origin)...};
    slice.mb_data = mb_data;
    slice.mb_sizes = sizes;
    slice.mb_origin = mb_origin;
    for (rank_type i = 0; i < rank(); ++i) {
      slice.mb_origin += at[i] * mb_strides[i];
      slice.mb_strides[i] = mb_strides[i];
      const long left = mb_at_least_zero(mb_limits[i] - at[i]), size = long(sizes.extent(i));
      slice.mb_limits[i] = left < size ? left : size;
    }
    return slice;
  }
};

template <class T, class IndexType, size_t... Sizes>
tensor(T*, extents<IndexType, Sizes...>) -> tensor<T, extents<IndexType, Sizes...>, tensor_inline>;
template <class T, class IndexType, size_t... Sizes, class I, unsigned long count>
tensor(T*, extents<IndexType, Sizes...>, array<I, count>)
    -> tensor<T, extents<IndexType, Sizes...>, tensor_inline>;

template <class T>
struct is_tensor : bool_constant<mb::is_tensor<mb::bare<T>>> {};
template <class T>
inline constexpr bool is_tensor_v = is_tensor<T>::value;
template <class T>
struct is_tensor_handle : false_type {};
template <class E, class X, class... Tags>
struct is_tensor_handle<tensor<E, X, tensor_handle, Tags...>> : true_type {};
template <class T>
inline constexpr bool is_tensor_handle_v = is_tensor_handle<mb::bare<T>>::value;
template <class T>
struct is_tensor_inline : false_type {};
template <class E, class X, class... Tags>
struct is_tensor_inline<tensor<E, X, tensor_inline, Tags...>> : true_type {};
template <class T>
inline constexpr bool is_tensor_inline_v = is_tensor_inline<mb::bare<T>>::value;
template <class T>
struct has_tensor_offset : false_type {};
template <class E, class X, class D, class... Tags>
struct has_tensor_offset<tensor<E, X, D, Tags...>>
    : bool_constant<mb::has_tag<tensor_offset, Tags...>> {};
template <class T>
inline constexpr bool has_tensor_offset_v = has_tensor_offset<mb::bare<T>>::value;

}  // namespace metal
