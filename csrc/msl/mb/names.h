// Names of vector types (float4, packed_half3, ...), global and in namespace metal.
#pragma once

#include "packed.h"

#define MB_VEC_NAMES(T)             \
  using T##2 = metal::vec<T, 2>;    \
  using T##3 = metal::vec<T, 3>;    \
  using T##4 = metal::vec<T, 4>;
#define MB_PACKED_NAMES(T)                        \
  using packed_##T##2 = metal::packed_vec<T, 2>;  \
  using packed_##T##3 = metal::packed_vec<T, 3>;  \
  using packed_##T##4 = metal::packed_vec<T, 4>;
#define MB_NAMES(T) MB_VEC_NAMES(T) MB_PACKED_NAMES(T)
// clang-format off
#define MB_ALL_NAMES                                                                        \
  MB_VEC_NAMES(bool)                                                                        \
  MB_NAMES(char) MB_NAMES(uchar) MB_NAMES(short) MB_NAMES(ushort) MB_NAMES(int)             \
  MB_NAMES(uint) MB_NAMES(long) MB_NAMES(ulong) MB_NAMES(half) MB_NAMES(bfloat) MB_NAMES(float)
// clang-format on

MB_ALL_NAMES

namespace metal {
MB_ALL_NAMES
using nullptr_t = decltype(nullptr);
using ::as_type;
using ::bfloat;
using ::half;
using ::int16_t;
using ::int32_t;
using ::int64_t;
using ::int8_t;
using ::ptrdiff_t;
using ::size_t;
using ::uchar;
using ::uint;
using ::uint16_t;
using ::uint32_t;
using ::uint64_t;
using ::uint8_t;
using ::ulong;
using ::ushort;
}  // namespace metal

#undef MB_ALL_NAMES
#undef MB_NAMES
#undef MB_PACKED_NAMES
#undef MB_VEC_NAMES
