// The memory of threadgroups: an arena for each that runs.
#pragma once

#include "object_file.h"

namespace mb {

// What lies at an address in device memory.
template <class T>
MB_FUNC T* in_device_memory(const void* address) {
  return (T*)address;
}

extern "C" {
MB_SECTION_ENDS(u8, threadgroup_begin, threadgroup_end, mb_threadgroup)
}

// The running group's own copy of a threadgroup variable: the linker lays all of them out in one
// section, whose image is the start of every group's arena.
template <class T>
MB_FUNC T& threadgroup_variable(u8* storage) {
  return *reinterpret_cast<T*>(arena() + (storage - threadgroup_begin));
}

}  // namespace mb

#if MB_CHECKED
// A variable of the arena, for the runtime: a pointer to one must not become one to another.
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
