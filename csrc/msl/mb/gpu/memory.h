// Address spaces of a GPU, which have separate instructions. Pointers are generic; where the
// compiler knows the origin of a pointer, it selects the faster instruction.
#pragma once

#include "../scalar.h"

#define MB_GLOBAL __attribute__((address_space(1)))
#define MB_SHARED __attribute__((address_space(3)))

// Dynamic threadgroup memory.
extern "C" MB_SHARED mb::u8 __attribute__((aligned(16))) mb_arena[];

namespace mb {

// Return a reference to an object in device memory.
template <class T>
MB_FUNC T* in_device_memory(u64 address) {
#if MB_SPACES
  return (T*)address;
#else
  return (T*)(MB_GLOBAL T*)address;
#endif
}

MB_FUNC u8* arena() { return (u8*)mb_arena; }

}  // namespace mb

#define MB_THREADGROUP(T, name)                                                                \
  alignas(T) alignas(16) [[clang::loader_uninitialized]] static MB_SHARED unsigned char        \
      mb_storage_##name[sizeof(T)];                                                            \
  MB_IN_THREADGROUP mb::unspaced<T>& name =                                                    \
      *(MB_IN_THREADGROUP mb::unspaced<T>*)(mb::unspaced<T>*)mb_storage_##name;
