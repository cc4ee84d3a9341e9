// Parameters of kernels that are tensors: a buffer of elements, and one of extents and strides.
#pragma once

#include "entry.h"
#include "tensor.h"

namespace mb {

// Indices of the buffer of elements and of a buffer of longs: the extents, then the strides in
// elements, of dimension 0 first.
template <int elements, int sizes>
struct tensor_buffer {};

template <class E, class X, class D, class... Tags>
struct is_view<metal::tensor<E, X, D, Tags...>> {
  static constexpr bool value = true;
};
template <class E, class X, class D, class... Tags>
struct pointee<metal::tensor<E, X, D, Tags...>> {
  using type = bare<typename element_memory<E>::type>;
  static constexpr Element element = numbers_of<type>;
};

template <int elements, int sizes, class E, class X, class D, class... Tags>
struct Bound<tensor_buffer<elements, sizes>, metal::tensor<E, X, D, Tags...>> {
  using Tensor = metal::tensor<E, X, D, Tags...>;
  Tensor tensor;
  MB_FUNC Bound(const Launch* launch, const u8*)
      : tensor(make(launch, metal::make_index_sequence<Tensor::rank()>())) {}
  MB_FUNC Tensor get(const Place&) { return tensor; }

 private:
  template <unsigned long... i>
  MB_FUNC static Tensor make(const Launch* launch, metal::index_sequence<i...>) {
    using Memory = __remove_pointer(typename Tensor::data_handle_type);
    constexpr unsigned long rank = Tensor::rank();
    const long* given = in_device_memory<const long>(launch->buffers[sizes]);
    return Tensor(in_device_memory<Memory>(launch->buffers[elements]), X(given[i]...),
                  metal::array<long, rank>{given[rank + i]...});
  }
};

}  // namespace mb
