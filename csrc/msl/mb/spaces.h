// Address spaces. They are erased, except in sources whose overloads depend on them: there
// MB_SPACES is 1, and the front end writes clang's attributes instead
// (metalbench/msl/frontend/address_spaces.py). Unqualified pointers and references accept every space;
// `thread` is also unqualified.
#pragma once

#ifndef MB_SPACES
#define MB_SPACES 0
#endif

namespace mb {

template <class T>
struct without_space {
  using type = T;
};

#if MB_SPACES

// In this mode clang emits only the functions that these functions call.
#define MB_EMITTED [[clang::sycl_external]]
#define MB_IN_THREADGROUP __attribute__((opencl_local))

template <class T>
struct without_space<__attribute__((opencl_global_device)) T> {
  using type = T;
};
template <class T>
struct without_space<__attribute__((opencl_global_host)) T> {
  using type = T;
};
template <class T>
struct without_space<MB_IN_THREADGROUP T> {
  using type = T;
};

#define MB_ACCESSOR(result, name, expression, ...)                          \
  template <class Self>                                                     \
  MB_FUNC constexpr result name(this Self&& self, ##__VA_ARGS__) {          \
    return expression;                                                      \
  }

#else

#define MB_EMITTED
#define MB_IN_THREADGROUP

// Define a member function that returns a reference into `self`, its object, with the object's
// constness and address space.
#define MB_ACCESSOR(result, name, expression, ...)      \
  MB_FUNC constexpr result name(__VA_ARGS__) {          \
    auto& self = *this;                                 \
    return expression;                                  \
  }                                                     \
  MB_FUNC constexpr result name(__VA_ARGS__) const {    \
    auto& self = *this;                                 \
    return expression;                                  \
  }

#endif

template <class T>
using unspaced = typename without_space<T>::type;

#if MB_SPACES
// Operand of a conditional operator: the value of a record in an address space; other types
// unchanged.
template <class T>
[[gnu::always_inline]] constexpr decltype(auto) operand(T&& x) {
  using U = unspaced<__remove_cvref(T)>;
  if constexpr (__is_class(U) && !__is_same(U, __remove_cvref(T))) return U(x);
  else return static_cast<T&&>(x);
}
#endif

// The same memory in the generic address space.
template <class T>
[[gnu::always_inline]] inline unspaced<T>* plain(T* pointer) {
  return pointer;
}

}  // namespace mb
