// Functions of SIMD-groups, and of quads: every four lanes of one.
// A lane that does not take part reads as zero, whatever the function.
#pragma once

#include "scalar.h"
#if MB_GPU
#include "gpu/simdgroup.h"
#elif MB_VECTOR
#include "cpu/vector_simdgroup.h"
#else
#include "cpu/fiber_simdgroup.h"
#endif
