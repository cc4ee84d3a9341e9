// Atomic objects and their functions. Metal's only order for objects is relaxed; fences order the
// rest.
#pragma once

#include "cpu/given.h"
#include "sync.h"
#if MB_GPU
#include "gpu/atomic.h"
#else
#include "cpu/atomic.h"
#endif

namespace metal {

enum memory_order {
  memory_order_relaxed = __ATOMIC_RELAXED,
  memory_order_seq_cst = __ATOMIC_SEQ_CST,
};

template <class T>
struct _atomic {
  T mb_value;
};
template <class T>
using atomic = _atomic<T>;

using atomic_int = atomic<int>;
using atomic_uint = atomic<uint>;
using atomic_bool = atomic<bool>;
using atomic_float = atomic<float>;
using atomic_ulong = atomic<ulong>;

}  // namespace metal

namespace mb {

// Out of line and untraced in checked builds: atomic accesses do not race with each other.
#if MB_CHECKED
#define MB_ATOMIC [[gnu::noinline]] MB_UNTRACED static
#else
#define MB_ATOMIC MB_FUNC static
#endif

template <class T>
MB_ATOMIC T atomic_read(const volatile T* p) {
  T value;
  MB_ATOMIC_CALL(load, p, &value, __ATOMIC_RELAXED);
  return value;
}
template <class T>
MB_ATOMIC void atomic_write(volatile T* p, T value) {
  MB_ATOMIC_CALL(store, p, &value, __ATOMIC_RELAXED);
}
template <class T>
MB_ATOMIC T atomic_swap(volatile T* p, T value) {
  T before;
  MB_ATOMIC_CALL(exchange, p, &value, &before, __ATOMIC_RELAXED);
  return before;
}
template <class T>
MB_ATOMIC bool atomic_compare(volatile T* p, T* expected, T desired) {
  return MB_ATOMIC_CALL(compare_exchange, p, expected, &desired, false, __ATOMIC_RELAXED,
                                   __ATOMIC_RELAXED);
}
template <class T, class F>
MB_ATOMIC T atomic_update(volatile T* p, T operand, F f) {
  T before = atomic_read(p);
  while (!atomic_compare(p, &before, f(before, operand))) {
  }
  return before;
}

// The value must be initialised, since other threads may read it.
template <class T>
MB_FUNC T expect_operand(T value) {
  expect_given(&value, sizeof value, "an uninitialised value is passed to an atomic function");
  return value;
}

// The types of atomic objects that functions have (MSL, atomic functions).
template <class T>
inline constexpr bool is_atomic_word = __is_same(T, int) || __is_same(T, uint);
template <class T>
inline constexpr bool is_atomic_sum = is_atomic_word<T> || __is_same(T, float);

}  // namespace mb

// Atomic functions have one order (MSL, memory order).
#define MB_RELAXED(order)             \
  __attribute__((enable_if(           \
      order == memory_order_relaxed, \
      "'order' argument must be 'metal::memory_order_relaxed'")))

namespace metal {

template <class T, class U>
MB_FUNC void atomic_store_explicit(volatile _atomic<T>* object, U desired, memory_order order)
    MB_RELAXED(order) {
  MB_ACCESS(object, sizeof(T), atomic_write);
  mb::atomic_write<T>(&object->mb_value, mb::expect_operand(T(desired)));
}
template <class T>
MB_FUNC T atomic_load_explicit(const volatile _atomic<T>* object, memory_order order)
    MB_RELAXED(order) {
  MB_ACCESS(object, sizeof(T), atomic_read);
  mb::let_others_run();
  return mb::atomic_read<T>(&object->mb_value);
}
template <class T, class U>
MB_FUNC T atomic_exchange_explicit(volatile _atomic<T>* object, U desired, memory_order order)
    MB_RELAXED(order) {
  MB_ACCESS(object, sizeof(T), atomic_exchange);
  mb::let_others_run();
  return mb::atomic_swap<T>(&object->mb_value, mb::expect_operand(T(desired)));
}
template <class T, class U>
MB_FUNC bool atomic_compare_exchange_weak_explicit(volatile _atomic<T>* object, T* expected,
                                                   U desired, memory_order order,
                                                   memory_order failed)
    MB_RELAXED(order) MB_RELAXED(failed) {
  MB_ACCESS(object, sizeof(T), atomic_update);
  mb::let_others_run();
  return mb::atomic_compare<T>(&object->mb_value, expected, T(desired));
}
#define MB_FETCH(name, has_type, result, is_native, native, ...)                        \
  template <class T, class U, class = typename mb::enable_if<has_type>::type>           \
  MB_FUNC result name(volatile _atomic<T>* object, U operand, memory_order order)       \
      MB_RELAXED(order) {                                                               \
    MB_ACCESS(object, sizeof(T), atomic_update);                                        \
    const T given = mb::expect_operand(T(operand));                                     \
    if constexpr (is_native)                                                            \
      return result(MB_ATOMIC_CALL(native, &object->mb_value, given, __ATOMIC_RELAXED)); \
    else                                                                                \
      return result(mb::atomic_update<T>(                                               \
          &object->mb_value, given, MB_LAMBDA2 { return __VA_ARGS__; }));               \
  }
#define MB_FETCH_WORD(op) \
  MB_FETCH(atomic_fetch_##op##_explicit, mb::is_atomic_word<T>, T, true, fetch_##op, x)
MB_FETCH(atomic_fetch_add_explicit, mb::is_atomic_sum<T>, T, mb::is_native_sum<T>, fetch_add, x + y)
MB_FETCH(atomic_fetch_sub_explicit, mb::is_atomic_sum<T>, T, __is_integral(T), fetch_sub, x - y)
MB_FETCH_WORD(min)
MB_FETCH_WORD(max)
MB_FETCH_WORD(and)
MB_FETCH_WORD(or)
MB_FETCH_WORD(xor)
// Of 64 bits there are these two, which return nothing.
MB_FETCH(atomic_min_explicit, (__is_same(T, ulong)), void, true, fetch_min, x)
MB_FETCH(atomic_max_explicit, (__is_same(T, ulong)), void, true, fetch_max, x)
#undef MB_FETCH_WORD
#undef MB_FETCH
#undef MB_RELAXED

MB_FUNC void atomic_thread_fence(mem_flags flags, memory_order order = memory_order_seq_cst,
                                 thread_scope = thread_scope_device) {
#if MB_CHECKED
  if (order != memory_order_relaxed)
    mb::fence(mb::u32(flags) | mb::fence_acquires | mb::fence_releases);
#endif
  MB_ATOMIC_CALL(thread_fence, __ATOMIC_SEQ_CST);
}

}  // namespace metal
