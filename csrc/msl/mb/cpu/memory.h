// Threadgroup memory: one arena for each running group.
#pragma once

#include "object_file.h"

namespace mb {

// Return a reference to an object in device memory.
template <class T>
MB_FUNC T* in_device_memory(const void* address) {
  return (T*)address;
}

extern "C" {
MB_SECTION_ENDS(u8, threadgroup_begin, threadgroup_end, mb_threadgroup)
}

// The running group's own copy of a threadgroup variable: the linker places all of them in one
// section, whose image is the begin of each group's arena.
template <class T>
MB_FUNC T& threadgroup_variable(u8* storage) {
  return *reinterpret_cast<T*>(arena() + (storage - threadgroup_begin));
}

}  // namespace mb

#if MB_CHECKED
// Describe a variable of the arena to the runtime, which checks that pointers stay in their
// variable.
#define MB_THREADGROUP_PART(T, name)                                                       \
  [[gnu::used]] static mb::ThreadgroupPart mb_part_##name                                   \
      __attribute__((MB_DATA_SECTION(mb_parts))) = {mb_storage_##name, sizeof(T), #name};
#else
#define MB_THREADGROUP_PART(T, name)
#endif

#define MB_THREADGROUP(T, name)                                                             \
  alignas(T) alignas(16) static unsigned char mb_storage_##name[sizeof(T)] __attribute__((  \
      MB_DATA_SECTION(mb_threadgroup)));                                                    \
  MB_THREADGROUP_PART(T, name)                                                              \
  MB_IN_THREADGROUP mb::unspaced<T>& name = *(MB_IN_THREADGROUP mb::unspaced<T>*)&          \
      mb::threadgroup_variable<mb::unspaced<T>>(mb_storage_##name);
