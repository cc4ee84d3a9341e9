// Atomic functions of int and uint textures, on the first component of 32 bits.
#pragma once

#include "atomic.h"
#include "texel.h"

namespace mb {

// Apply `update` to the component's address; return 0 outside of the texture.
template <class T, class Ask, class Update>
MB_TEXEL auto atomic_texel(const Texture* t, u32 x, u32 y, u32 z, bool is_write, Ask ask,
                           Update update) {
  using R = decltype(update(static_cast<volatile T*>(nullptr)));
  if (!inside(t, x, y, z, 0)) {
    MB_OUTSIDE(t, x, y, z, 0, is_write);
    return R();
  }
  if (t->channel != Channel::uint32 && t->channel != Channel::sint32) return R();
  auto* at = reinterpret_cast<volatile T*>(address_of(t->base, x, y, z));
  ask(at);
  return update(at);
}

template <class T>
MB_FUNC vec<T, 4> first_of(T value) {
  return vec<T, 4>(value, 0, 0, 0);
}

}  // namespace mb

// Checked builds report the access first; `kind` is its kind as a memory access.
#define MB_ATOMIC_TEXEL(kind, is_write, i, j, k, ...)                                           \
  mb::atomic_texel<T>(                                                                          \
      this->mb_texture, i, j, k, is_write,                                                      \
      [](volatile T* at) __attribute__((always_inline)) { MB_TEXEL_ACCESS(at, sizeof(T), kind); }, \
      [&](volatile T* at) __attribute__((always_inline)) { __VA_ARGS__; })

#define MB_ATOMIC_FETCH(op, name, i, j, k, ...)                                             \
  MB_FUNC vec<T, 4> name(__VA_ARGS__, vec<T, 4> operand) const MB_IF_ATOMIC {               \
    return mb::first_of<T>(MB_ATOMIC_TEXEL(                                                 \
        atomic_update, true, i, j, k, return T(MB_ATOMIC_CALL(fetch_##op, at, mb::expect_operand(operand.x), __ATOMIC_RELAXED))));          \
  }
#define MB_ATOMIC_METHODS(i, j, k, ...)                                                     \
  MB_FUNC vec<T, 4> atomic_load(__VA_ARGS__) const MB_IF_ATOMIC {                           \
    return mb::first_of<T>(MB_ATOMIC_TEXEL(atomic_read, false, i, j, k, return mb::atomic_read<T>(at)));        \
  }                                                                                         \
  MB_FUNC void atomic_store(vec<T, 4> value, __VA_ARGS__) const MB_IF_ATOMIC {              \
    MB_ATOMIC_TEXEL(atomic_write, true, i, j, k, return mb::atomic_swap<T>(at, mb::expect_operand(value.x)));                       \
  }                                                                                         \
  MB_FUNC vec<T, 4> atomic_exchange(__VA_ARGS__, vec<T, 4> value) const MB_IF_ATOMIC {      \
    return mb::first_of<T>(MB_ATOMIC_TEXEL(atomic_exchange, true, i, j, k, return mb::atomic_swap<T>(at, mb::expect_operand(value.x)))); \
  }                                                                                         \
  MB_FUNC bool atomic_compare_exchange_weak(__VA_ARGS__, vec<T, 4>* expected, vec<T, 4> value) \
      const MB_IF_ATOMIC {                                                                  \
    return MB_ATOMIC_TEXEL(atomic_update, true, i, j, k, return mb::atomic_compare<T>(at, &expected->x, value.x)); \
  }                                                                                         \
  MB_ATOMIC_FETCH(add, atomic_fetch_add, i, j, k, __VA_ARGS__)                              \
  MB_ATOMIC_FETCH(sub, atomic_fetch_sub, i, j, k, __VA_ARGS__)                              \
  MB_ATOMIC_FETCH(and, atomic_fetch_and, i, j, k, __VA_ARGS__)                              \
  MB_ATOMIC_FETCH(or, atomic_fetch_or, i, j, k, __VA_ARGS__)                                \
  MB_ATOMIC_FETCH(xor, atomic_fetch_xor, i, j, k, __VA_ARGS__)                              \
  MB_ATOMIC_FETCH(min, atomic_fetch_min, i, j, k, __VA_ARGS__)                              \
  MB_ATOMIC_FETCH(max, atomic_fetch_max, i, j, k, __VA_ARGS__)
