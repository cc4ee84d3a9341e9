// MB_KERNEL(function, needs_fibers, max_threads, bindings...) defines the symbols of a kernel's
// shared object.
//
//   MB_KERNEL((softmax<float, 4>), 1, 1024, mb::buffer<0>,
//             mb::attribute<mb::thread_position_in_grid>, mb::threadgroup<0>)
//
// Use it once, at the end of the source, with parentheses around a name with commas and one binding
// per parameter, in order. The function is inlined into the loop over threads, so it is `static
// inline`.
#pragma once

#include "attributes.h"
#include "numbers.h"
#include "sync.h"

namespace mb {

template <int index>
struct buffer {};
template <int index>
struct threadgroup {};
template <class A>
struct attribute {};

// Type that a parameter points or refers to; bytes for `device void*`.
template <class P>
struct pointee {
  using target = bare<__remove_pointer(P)>;
  using type = typename conditional<__is_void(target), u8, target>::type;
  static constexpr Element element = numbers_of<target>;
};

// Whether a parameter that is passed by value refers to memory; see tensor_entry.h.
template <class P>
struct is_view {
  static constexpr bool value = false;
};

// Requirements of a texture parameter; see texture_entry.h.
template <class P, class = void>
struct opaque_use {
  static constexpr u32 count = 1;
  static constexpr TextureUse use{};
};

// A reference is bound by the dispatch, not by a line of the source, so no line is reported.
template <class T>
MB_FUNC MB_UNTRACED void check_reference([[maybe_unused]] const volatile T* pointer) {
#if MB_CHECKED
  const uptr target = (uptr)pointer;
  if (target % alignof(T) != 0) misaligned((const void*)target, alignof(T), Use::any, nullptr);
#endif
}

// Source of a thread's parameter, fetched once before the loop over threads.
template <class Binding, class P>
struct Bound;

template <int index, class T>
struct Bound<buffer<index>, T*> {
  T* pointer;
  MB_FUNC Bound(const Launch* launch, const u8*)
      : pointer(in_device_memory<T>(launch->buffers[index])) {}
  MB_FUNC T* get(const Place&) { return pointer; }
};
template <int index, class T>
struct Bound<buffer<index>, T&> {
  T* pointer;
  MB_FUNC Bound(const Launch* launch, const u8*)
      : pointer(in_device_memory<T>(launch->buffers[index])) {
    check_reference<T>(pointer);
  }
  MB_FUNC T& get(const Place&) { return *pointer; }
};
// A local copy of a `constant T&`, so that the loop's stores cannot alias it. Large objects are not
// copied, and in checked and counted builds no object is, so that its reads are traced.
template <int index, class T>
struct Bound<buffer<index>, const T&> {
  static constexpr bool small = sizeof(T) <= 256 && !MB_CHECKED && !MB_COUNTED;
  using Kept = typename conditional<small, unspaced<T>, const T*>::type;
  Kept kept;
  MB_FUNC Bound(const Launch* launch, const u8*) {
    const T* source = in_device_memory<const T>(launch->buffers[index]);
    check_reference<T>(source);
    if constexpr (small) __builtin_memcpy(&kept, (const unspaced<T>*)source, sizeof(T));
    else kept = source;
  }
  MB_FUNC const T& get(const Place&) {
    if constexpr (small) return *(const T*)__builtin_addressof(kept);
    else return *kept;
  }
};
template <int index, class P>
struct Bound<threadgroup<index>, P> {
  using Pointer = __add_pointer(__remove_pointer(P));
  Pointer pointer;
  MB_FUNC Bound(const Launch* launch, const u8* arena)
      : pointer((Pointer)(arena + launch->threadgroup_offset[index])) {}
  MB_FUNC P get(const Place&) {
    if constexpr (__is_lvalue_reference(P)) return *pointer;
    else return pointer;
  }
};
template <class A, class P>
struct Bound<attribute<A>, P> {
  MB_FUNC Bound(const Launch*, const u8*) {}
  MB_FUNC P get(const Place& place) { return coordinates<P>(A::of(place)); }
};

template <class Binding>
inline constexpr bool depends_on_group = false;
template <int index>
inline constexpr bool depends_on_group<threadgroup<index>> = true;
template <class A>
inline constexpr bool depends_on_group<attribute<A>> = A::depends_on_group;

// In checked builds a call separates the thunk's untraced loads from the kernel's traced ones.
#if MB_CHECKED
#define MB_BODY [[gnu::noinline]]
#else
#define MB_BODY MB_FUNC
#endif
template <auto function, class... P>
MB_BODY void run(P... parameters) {
  function(static_cast<P&&>(parameters)...);
}

// All parameters of a kernel.
template <class... B>
struct Bounds;
template <>
struct Bounds<> {
  MB_FUNC Bounds(const Launch*, const u8*) {}
  template <auto body, class... P>
  MB_FUNC void call(const Place&, P&&... parameters) {
    body(static_cast<P&&>(parameters)...);
  }
};
template <class First, class... Rest>
struct Bounds<First, Rest...> {
  First first;
  Bounds<Rest...> rest;
  MB_FUNC Bounds(const Launch* launch, const u8* arena)
      : first(launch, arena), rest(launch, arena) {}
  template <auto body, class... P>
  MB_FUNC void call(const Place& place, P&&... parameters) {
    rest.template call<body>(place, static_cast<P&&>(parameters)..., first.get(place));
  }
};

template <auto function, class Signature, class... Bindings>
struct Kernel;

template <auto function, class... P, class... Bindings>
struct Kernel<function, void (*)(P...), Bindings...> {
  static_assert(sizeof...(P) == sizeof...(Bindings), "one binding for each parameter");
  using All = Bounds<Bound<Bindings, P>...>;
  static constexpr bool rows_merge = !(depends_on_group<Bindings> || ...);

  static constexpr auto body = &run<function, P...>;

  static constexpr Info info(u32 needs_fibers, u32 max_threads) {
    Info result{abi_version, needs_fibers, 0, max_threads, MB_COUNTED, sizeof...(P), {}};
    constexpr bool memory[] = {
        (__is_pointer(P) || __is_lvalue_reference(P) || is_view<P>::value)..., false};
    constexpr u32 bytes[] = {sizeof(typename pointee<P>::type)..., 0};
    constexpr u32 align[] = {alignof(typename pointee<P>::type)..., 0};
    constexpr Element elements[] = {pointee<P>::element..., Element::any};
    constexpr u32 count[] = {opaque_use<bare<P>>::count..., 0};
    constexpr TextureUse uses[] = {opaque_use<bare<P>>::use..., {}};
    for (u32 i = 0; i < sizeof...(P); ++i) {
      if (memory[i]) result.argument[i] = ArgumentInfo{bytes[i], align[i], 1, {}, elements[i]};
      else result.argument[i] = ArgumentInfo{0, 0, count[i], uses[i], Element::any};
    }
    return result;
  }
};

}  // namespace mb

#define MB_EXPORT extern "C" [[gnu::visibility("default")]] MB_EMITTED MB_UNTRACED

#if MB_GPU
#include "gpu/entry.h"
#else
#include "cpu/info.h"
#if MB_VECTOR
#include "cpu/vector_entry.h"
#else
#include "cpu/fiber_entry.h"
#endif
#endif

#define MB_KERNEL(function, needs_fibers, max_threads, ...)                    \
  using mb_kernel = mb::Kernel<&function, decltype(&function), ##__VA_ARGS__>; \
  MB_INFO(needs_fibers, max_threads)                                           \
  MB_ENTRIES(needs_fibers)
