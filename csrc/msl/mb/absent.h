// mb::absent binds a parameter whose [[function_constant(x)]] is false: a null pointer, or a
// reference that the kernel must not use.
#pragma once

#include "entry.h"

namespace mb {

struct absent {};

// The null texture.
template <class P>
struct Bound<absent, P> {
  MB_FUNC Bound(const Launch*, const u8*) {}
  MB_FUNC P get(const Place&) { return P(); }
};
template <class T>
struct Bound<absent, T*> {
  MB_FUNC Bound(const Launch*, const u8*) {}
  MB_FUNC T* get(const Place&) { return nullptr; }
};
template <class T>
struct Bound<absent, T&> {
  T* pointer = nullptr;
  MB_FUNC Bound(const Launch*, const u8*) {}
  MB_FUNC T& get(const Place&) { return *pointer; }
};
template <class T>
struct Bound<absent, const T&> {
  const T* pointer = nullptr;
  MB_FUNC Bound(const Launch*, const u8*) {}
  MB_FUNC const T& get(const Place&) { return *pointer; }
};

}  // namespace mb
