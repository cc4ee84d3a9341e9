// Description of a kernel for the runtimes of all devices. C++17, freestanding, no library.
#pragma once

namespace mb {

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using uptr = __UINTPTR_TYPE__;

}  // namespace mb

#include "texture_abi.h"

namespace mb {

// Hash of all headers that the runtimes include, written by tools/abi_version.py. An extension
// refuses kernels with another value, because the layout of structs may differ.
inline constexpr u32 abi_version = 0x154330f2;

inline constexpr u32 simd_width = 32;
inline constexpr u32 max_threads = 1024;  // of one threadgroup
inline constexpr u32 max_buffers = 31;
inline constexpr u32 max_threadgroup_arguments = 31;

struct Dim3 {
  u32 x, y, z;
};

// Number type in memory, as metalbench::Element; `any` for mixed types such as a struct.
enum class Element : u32 {
  any,
  boolean,
  int8,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  float16,
  bfloat16,
  float32,
};

struct ArgumentInfo {
  u32 bytes;  // size of the type that a pointer or reference refers to
  u32 align;
  u32 count;  // elements of array<texture2d<T>, N>, else 1
  TextureUse texture;
  Element element;  // element type of the type that a pointer or reference refers to
};

struct Info {
  u32 abi;
  u32 needs_fibers;       // 0: mb_span exists
  u32 threadgroup_bytes;  // static
  u32 max_threads;        // [[max_total_threads_per_threadgroup]], or 1024
  u32 counted;            // 1: a counted build
  u32 arguments;          // number of valid entries of `argument`, in parameter order
  ArgumentInfo argument[64];
};

}  // namespace mb
