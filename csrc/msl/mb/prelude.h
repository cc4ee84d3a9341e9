// <metal_stdlib> for compute kernels, in C++17 with the address spaces erased.
//
// The front end defines before including this: MB_SWIZZLES_2/3/4 (swizzle.h), MB_MATRIX_DISTRIBUTED
// if the source uses thread_elements(), MB_FAST_MATH (default 1), MB_CHECKED. Headers in cpu/ and
// gpu/ are for that kind of device; all others are for both.
#pragma once

#include "array.h"
#include "assert.h"
#include "atomic.h"
#include "geometric.h"
#include "initializer_list.h"
#include "integer.h"
#include "integer_sequence.h"
#include "internals.h"
#include "limits.h"
#include "math.h"
#include "matrix.h"
#include "names.h"
#include "pack.h"
#include "relational.h"
#include "traits.h"

#ifdef MB_MATRIX_DISTRIBUTED
#include "matrix_distributed.h"
#elif MB_GPU
#include "gpu/simdgroup_matrix.h"
#else
#include "cpu/simdgroup_matrix.h"
#endif

#if !MB_GPU
#include "cpu/checked.h"
#include "cpu/counted.h"
#include "cpu/division.h"
#include "cpu/red_zones.h"
#include "cpu/undefined.h"
#include "cpu/uninitialised.h"
#endif
