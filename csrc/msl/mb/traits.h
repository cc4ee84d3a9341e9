// Type traits, based on clang's builtins.
#pragma once

#include "lift.h"

namespace metal {

template <class T, T v>
struct integral_constant {
  using value_type = T;
  using type = integral_constant;
  static constexpr T value = v;
  constexpr operator T() const { return v; }
  constexpr T operator()() const { return v; }
};
template <bool v>
using bool_constant = integral_constant<bool, v>;
using true_type = bool_constant<true>;
using false_type = bool_constant<false>;

template <bool condition, class T = void>
using enable_if = mb::enable_if<condition, T>;
template <bool condition, class T = void>
using enable_if_t = typename mb::enable_if<condition, T>::type;
template <bool condition, class A, class B>
using conditional = mb::conditional<condition, A, B>;
template <bool condition, class A, class B>
using conditional_t = typename mb::conditional<condition, A, B>::type;

#define MB_TRAIT(name, ...)                      \
  template <class T>                             \
  struct name : bool_constant<(__VA_ARGS__)> {}; \
  template <class T>                             \
  inline constexpr bool name##_v = (__VA_ARGS__);
#define MB_TRAIT2(name, builtin)                 \
  template <class A, class B>                    \
  struct name : bool_constant<builtin(A, B)> {}; \
  template <class A, class B>                    \
  inline constexpr bool name##_v = builtin(A, B);

MB_TRAIT2(is_same, __is_same)
MB_TRAIT2(is_base_of, __is_base_of)
MB_TRAIT2(is_convertible, __is_convertible_to)
MB_TRAIT2(is_assignable, __is_assignable)
MB_TRAIT(is_void, __is_void(T))
// As in Metal, vectors have the trait of their components.
MB_TRAIT(is_integral, __is_integral(mb::element<__remove_cv(T)>))
MB_TRAIT(is_floating_point, __is_floating_point(mb::element<__remove_cv(T)>))
MB_TRAIT(is_vector, (mb::element_of<__remove_cv(T)>::count > 1))
MB_TRAIT(is_arithmetic, __is_arithmetic(T))
MB_TRAIT(is_scalar, __is_arithmetic(T))
MB_TRAIT(is_fundamental, __is_fundamental(T))
MB_TRAIT(is_compound, __is_compound(T))
MB_TRAIT(is_object, __is_object(T))
MB_TRAIT(is_enum, __is_enum(T))
MB_TRAIT(is_class, __is_class(T))
MB_TRAIT(is_union, __is_union(T))
MB_TRAIT(is_array, __is_array(T))
MB_TRAIT(is_pointer, __is_pointer(T))
MB_TRAIT(is_reference, __is_reference(T))
MB_TRAIT(is_lvalue_reference, __is_lvalue_reference(T))
MB_TRAIT(is_rvalue_reference, __is_rvalue_reference(T))
MB_TRAIT(is_function, __is_function(T))
MB_TRAIT(is_const, __is_const(T))
MB_TRAIT(is_volatile, __is_volatile(T))
MB_TRAIT(is_signed, __is_arithmetic(T) && T(-1) < T(0))
MB_TRAIT(is_unsigned, __is_integral(T) && !(T(-1) < T(0)))
MB_TRAIT(is_trivial, __is_trivial(T))
MB_TRAIT(is_trivially_copyable, __is_trivially_copyable(T))
MB_TRAIT(is_standard_layout, __is_standard_layout(T))
MB_TRAIT(is_pod, __is_pod(T))
MB_TRAIT(is_default_constructible, __is_constructible(T))
#undef MB_TRAIT
#undef MB_TRAIT2

template <class T, class... A>
struct is_constructible : bool_constant<__is_constructible(T, A...)> {};
template <class T, class... A>
inline constexpr bool is_constructible_v = __is_constructible(T, A...);

template <class T>
using vec_elements = integral_constant<int, mb::element_of<T>::count>;

#define MB_TRANSFORM(name, ...) \
  template <class T>            \
  struct name {                 \
    using type = __VA_ARGS__;   \
  };                            \
  template <class T>            \
  using name##_t = __VA_ARGS__;

MB_TRANSFORM(remove_const, __remove_const(T))
MB_TRANSFORM(remove_volatile, __remove_volatile(T))
MB_TRANSFORM(remove_cv, __remove_cv(T))
MB_TRANSFORM(remove_reference, __remove_reference_t(T))
MB_TRANSFORM(remove_pointer, __remove_pointer(T))
MB_TRANSFORM(remove_extent, __remove_extent(T))
MB_TRANSFORM(remove_all_extents, __remove_all_extents(T))
MB_TRANSFORM(decay, __decay(T))
MB_TRANSFORM(add_pointer, __add_pointer(T))
MB_TRANSFORM(add_lvalue_reference, __add_lvalue_reference(T))
MB_TRANSFORM(add_rvalue_reference, __add_rvalue_reference(T))
MB_TRANSFORM(add_const, const T)
MB_TRANSFORM(add_volatile, volatile T)
MB_TRANSFORM(add_cv, const volatile T)
MB_TRANSFORM(underlying_type, __underlying_type(T))
MB_TRANSFORM(make_signed, __make_signed(T))
MB_TRANSFORM(make_unsigned, __make_unsigned(T))
#undef MB_TRANSFORM

template <class T>
add_rvalue_reference_t<T> declval();

template <class... T>
struct common_type;
template <class T>
struct common_type<T> {
  using type = __decay(T);
};
template <class A, class B>
struct common_type<A, B> {
  using type = __decay(decltype(true ? declval<A>() : declval<B>()));
};
template <class A, class B, class... Rest>
struct common_type<A, B, Rest...> : common_type<typename common_type<A, B>::type, Rest...> {};
template <class... T>
using common_type_t = typename common_type<T...>::type;

template <class... T>
struct conjunction : bool_constant<(bool(T::value) && ...)> {};
template <class... T>
struct disjunction : bool_constant<(bool(T::value) || ...)> {};
template <class T>
struct negation : bool_constant<!bool(T::value)> {};
template <class... T>
using _disjunction = disjunction<T...>;
template <class... T>
using _conjunction = conjunction<T...>;

template <class T>
struct __is_valid_simdgroup_type : bool_constant<__is_arithmetic(T) || is_vector_v<T>> {};

template <class T>
MB_FUNC constexpr remove_reference_t<T>&& move(T&& value) {
  return static_cast<remove_reference_t<T>&&>(value);
}
template <class T>
MB_FUNC constexpr void swap(T& a, T& b) {
  mb::unspaced<T> before = a;
  a = b;
  b = before;
}

}  // namespace metal
