// <simd/simd.h>: the names of types that sources share with the host, such as simd_float4,
// vector_float4 and matrix_float4x4. Namespace simd is Metal's.
#pragma once

#include "matrix.h"
#include "names.h"

#define MB_SIMD_VECTORS(T)        \
  using simd_##T##1 = T;          \
  using simd_##T##2 = T##2;       \
  using simd_##T##3 = T##3;       \
  using simd_##T##4 = T##4;       \
  using vector_##T##2 = T##2;     \
  using vector_##T##3 = T##3;     \
  using vector_##T##4 = T##4;     \
  using simd_packed_##T##2 = packed_##T##2; \
  using simd_packed_##T##4 = packed_##T##4;
#define MB_SIMD_MATRIX(T, C, R)                            \
  using simd_##T##C##x##R = metal::matrix<T, C, R>;   \
  using matrix_##T##C##x##R = metal::matrix<T, C, R>;
#define MB_SIMD_MATRICES(T)                                                       \
  MB_SIMD_MATRIX(T, 2, 2) MB_SIMD_MATRIX(T, 2, 3) MB_SIMD_MATRIX(T, 2, 4) \
  MB_SIMD_MATRIX(T, 3, 2) MB_SIMD_MATRIX(T, 3, 3) MB_SIMD_MATRIX(T, 3, 4) \
  MB_SIMD_MATRIX(T, 4, 2) MB_SIMD_MATRIX(T, 4, 3) MB_SIMD_MATRIX(T, 4, 4)

MB_SIMD_VECTORS(char)
MB_SIMD_VECTORS(uchar)
MB_SIMD_VECTORS(short)
MB_SIMD_VECTORS(ushort)
MB_SIMD_VECTORS(int)
MB_SIMD_VECTORS(uint)
MB_SIMD_VECTORS(long)
MB_SIMD_VECTORS(ulong)
MB_SIMD_VECTORS(half)
MB_SIMD_VECTORS(float)
MB_SIMD_MATRICES(half)
MB_SIMD_MATRICES(float)

namespace simd {
using namespace metal;
}

#undef MB_SIMD_VECTORS
#undef MB_SIMD_MATRIX
#undef MB_SIMD_MATRICES
