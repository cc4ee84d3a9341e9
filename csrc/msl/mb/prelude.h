// <metal_stdlib> for compute kernels, in C++17 with the address spaces erased.
//
// The front end defines before including this: MB_SWIZZLES_2/3/4 (swizzle.h), MB_MATRIX_DISTRIBUTED
// where the source mentions thread_elements(), MB_FAST_MATH (1 unless told otherwise), MB_CHECKED.
#pragma once

#include "array.h"
#include "assert.h"
#include "atomic.h"
#include "checked.h"
#include "counted.h"
#include "division.h"
#include "geometric.h"
#include "initializer_list.h"
#include "integer.h"
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
#else
#include "simdgroup_matrix.h"
#endif
