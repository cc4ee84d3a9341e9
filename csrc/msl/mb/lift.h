// Generation of overloads for scalars, vectors and mixed arguments from one scalar definition.
#pragma once

#include "packed.h"

namespace mb {

// Type of an argument inside the function: packed vectors as vectors, enumerations as int.
template <class T, class = void>
struct argument {};
template <class T>
struct argument<T, typename enable_if<is_int<T> || is_float<T>>::type> {
  using type = T;
};
template <class T>
struct argument<T, typename enable_if<__is_enum(T)>::type> {
  using type = __underlying_type(T);
};
template <class T, int N>
struct argument<vec<T, N>> {
  using type = vec<T, N>;
};
template <class T, int N>
struct argument<packed_vec<T, N>> {
  using type = vec<T, N>;
};

template <class T>
struct element_of {
  using type = T;
  static constexpr int count = 1;
};
template <class T, int N>
struct element_of<vec<T, N>> {
  using type = T;
  static constexpr int count = N;
};
template <class T>
using element = typename element_of<T>::type;

template <class T, class E>
struct rebind_element {
  using type = E;
};
template <class T, int N, class E>
struct rebind_element<vec<T, N>, E> {
  using type = vec<E, N>;
};
// The shape of T with elements of type E.
template <class T, class E>
using rebind = typename rebind_element<T, E>::type;

template <class A, class B>
struct join_arguments {
  using type = decltype(A() + B());
};
template <class A>
struct join_arguments<A, A> {
  using type = A;
};
template <class T, int N, class B>
struct join_arguments<vec<T, N>, B> {
  using type = vec<T, N>;
};
template <class A, class T, int N>
struct join_arguments<A, vec<T, N>> {
  using type = vec<T, N>;
};
template <class T, int N>
struct join_arguments<vec<T, N>, vec<T, N>> {
  using type = vec<T, N>;
};
template <class T, int N, class U, int M>
struct join_arguments<vec<T, N>, vec<U, M>> {};

template <class A>
using arg = typename argument<A>::type;
template <class A, class B>
using join = typename join_arguments<arg<A>, arg<B>>::type;
template <class A, class B, class C>
using join3 = typename join_arguments<typename join_arguments<arg<A>, arg<B>>::type, arg<C>>::type;

template <class A>
using integral = typename enable_if<is_int<element<arg<A>>>, argument<A>>::type::type;

// Convert integers to float; return other types unchanged.
template <class T>
using floating_of = rebind<T, typename conditional<is_int<element<T>>, float, element<T>>::type>;
template <class A>
using floating = floating_of<arg<A>>;
template <class A, class B>
using floating2 = floating_of<join<A, B>>;
template <class A, class B, class C>
using floating3 = floating_of<join3<A, B, C>>;

// Metal's functions are overloaded by the exact types of scalars, so arguments of two types call an
// ambiguous function: each type has an overload that matches one argument better. bool and
// enumerations are promoted to int. A vector decides alone: scalars are converted to its elements.
template <class A>
struct promoted {
  using type = typename conditional<__is_enum(A) || __is_same(A, bool), int, A>::type;
  static constexpr bool floats = is_float<A>;
  static constexpr bool vector = element_of<arg<A>>::count != 1;
};
template <class A, class B>
inline constexpr bool differ = !__is_same(typename promoted<A>::type, typename promoted<B>::type);
template <class A, class B>
inline constexpr bool floats_differ = promoted<A>::floats && promoted<B>::floats && differ<A, B>;

template <class A, class... B>
inline constexpr bool mixed = !(promoted<A>::vector || ... || promoted<B>::vector) &&
                              (differ<A, B> || ... || false);
// Functions of floats only: integers are converted if another argument selects the overload.
template <class... A>
inline constexpr bool mixed_floats = false;
template <class A>
inline constexpr bool mixed_floats<A> = !promoted<A>::vector && !promoted<A>::floats;
template <class A, class B>
inline constexpr bool mixed_floats<A, B> =
    !promoted<A>::vector && !promoted<B>::vector &&
    (!(promoted<A>::floats || promoted<B>::floats) || floats_differ<A, B>);
template <class A, class B, class C>
inline constexpr bool mixed_floats<A, B, C> =
    !promoted<A>::vector && !promoted<B>::vector && !promoted<C>::vector &&
    (!(promoted<A>::floats || promoted<B>::floats || promoted<C>::floats) ||
     floats_differ<A, B> || floats_differ<A, C> || floats_differ<B, C>);

template <template <class...> class Type, class... A>
inline constexpr bool is_ambiguous = mixed<A...>;
template <class... A>
inline constexpr bool is_ambiguous<floating, A...> = mixed_floats<A...>;
template <class... A>
inline constexpr bool is_ambiguous<floating2, A...> = mixed_floats<A...>;
template <class... A>
inline constexpr bool is_ambiguous<floating3, A...> = mixed_floats<A...>;

// A splat or a copy; explicit because conversions between vectors are never implicit.
template <class R, class A>
MB_FUNC constexpr R lift(A a) {
  if constexpr (__is_same(R, A)) return a;
  else if constexpr (element_of<R>::count == 1) return convert<R>(a);
  else if constexpr (element_of<arg<A>>::count == 1) return R(convert<element<R>>(a));
  else return R(static_cast<arg<A>>(a));
}

// Apply F::of to each component.
template <class F, class R, class... Same>
MB_FUNC constexpr R each(R a, Same... b) {
  if constexpr (element_of<R>::count == 1) return F::of(a, b...);
  else if constexpr (element_of<R>::count == 2) return R(F::of(a.x, b.x...), F::of(a.y, b.y...));
  else if constexpr (element_of<R>::count == 3)
    return R(F::of(a.x, b.x...), F::of(a.y, b.y...), F::of(a.z, b.z...));
  else return R(F::of(a.x, b.x...), F::of(a.y, b.y...), F::of(a.z, b.z...), F::of(a.w, b.w...));
}

// The same for results of another element type.
template <class F, class A>
MB_FUNC constexpr auto map(F f, A a) {
  if constexpr (element_of<A>::count == 1) {
    return f(a);
  } else {
    using R = vec<decltype(f(a.x)), element_of<A>::count>;
    if constexpr (element_of<A>::count == 2) return R(f(a.x), f(a.y));
    else if constexpr (element_of<A>::count == 3) return R(f(a.x), f(a.y), f(a.z));
    else return R(f(a.x), f(a.y), f(a.z), f(a.w));
  }
}

template <class F, class A, class B>
MB_FUNC constexpr auto map(F f, A a, B b) {
  if constexpr (element_of<A>::count == 1) {
    return f(a, b);
  } else {
    using R = vec<decltype(f(a.x, b.x)), element_of<A>::count>;
    if constexpr (element_of<A>::count == 2) return R(f(a.x, b.x), f(a.y, b.y));
    else if constexpr (element_of<A>::count == 3) return R(f(a.x, b.x), f(a.y, b.y), f(a.z, b.z));
    else return R(f(a.x, b.x), f(a.y, b.y), f(a.z, b.z), f(a.w, b.w));
  }
}

template <class F, class A, class B, class C>
MB_FUNC constexpr auto map(F f, A a, B b, C c) {
  if constexpr (element_of<A>::count == 1) {
    return f(a, b, c);
  } else {
    using R = vec<decltype(f(a.x, b.x, c.x)), element_of<A>::count>;
    if constexpr (element_of<A>::count == 2) return R(f(a.x, b.x, c.x), f(a.y, b.y, c.y));
    else if constexpr (element_of<A>::count == 3)
      return R(f(a.x, b.x, c.x), f(a.y, b.y, c.y), f(a.z, b.z, c.z));
    else return R(f(a.x, b.x, c.x), f(a.y, b.y, c.y), f(a.z, b.z, c.z), f(a.w, b.w, c.w));
  }
}

template <class T>
struct none;
template <class T>
using none_of = typename none<T>::type;

}  // namespace mb

// Define a function of metal by a scalar expression of x (and y, z); T is the element type.
#define MB_LAMBDA [](auto x) __attribute__((always_inline))
#define MB_LAMBDA2 [](auto x, auto y) __attribute__((always_inline))
#define MB_LAMBDA3 [](auto x, auto y, auto z) __attribute__((always_inline))

// Refuse a call that has no best overload in Metal, with the message of its compiler.
#define MB_UNAMBIGUOUS(name, ...)                                                         \
  __attribute__((diagnose_if(__VA_ARGS__,                                                 \
                             "call to '" #name "' is ambiguous; convert the arguments to " \
                             "one type that the function has",                            \
                             "error")))

// Metal's functions are not templates: a kernel's template of the same name has priority. An
// always-empty pack makes these templates less specialised.
#define MB_LESS_SPECIAL mb::none_of<None>...
#define MB_MAP1(name, type, ...)                       \
  struct mb_scalar_##name {                            \
    template <class T>                                 \
    MB_FUNC static constexpr T of(T x) {               \
      return static_cast<T>(__VA_ARGS__);              \
    }                                                  \
  };                                                   \
  template <class A, class R = type<A>, class... None> \
  MB_UNAMBIGUOUS(name, mb::is_ambiguous<type, A>)      \
  MB_FUNC constexpr R name(A a, MB_LESS_SPECIAL) {     \
    return mb::each<mb_scalar_##name>(mb::lift<R>(a)); \
  }
#define MB_MAP2(name, type, ...)                                       \
  struct mb_scalar_##name {                                            \
    template <class T>                                                 \
    MB_FUNC static constexpr T of(T x, T y) {                          \
      return static_cast<T>(__VA_ARGS__);                              \
    }                                                                  \
  };                                                                   \
  template <class A, class B, class R = type<A, B>, class... None>     \
  MB_UNAMBIGUOUS(name, mb::is_ambiguous<type, A, B>)                   \
  MB_FUNC constexpr R name(A a, B b, MB_LESS_SPECIAL) {                \
    return mb::each<mb_scalar_##name>(mb::lift<R>(a), mb::lift<R>(b)); \
  }
#define MB_MAP3(name, type, ...)                                                       \
  struct mb_scalar_##name {                                                            \
    template <class T>                                                                 \
    MB_FUNC static constexpr T of(T x, T y, T z) {                                     \
      return static_cast<T>(__VA_ARGS__);                                              \
    }                                                                                  \
  };                                                                                   \
  template <class A, class B, class C, class R = type<A, B, C>, class... None>         \
  MB_UNAMBIGUOUS(name, mb::is_ambiguous<type, A, B, C>)                                \
  MB_FUNC constexpr R name(A a, B b, C c, MB_LESS_SPECIAL) {                           \
    return mb::each<mb_scalar_##name>(mb::lift<R>(a), mb::lift<R>(b), mb::lift<R>(c)); \
  }
