// Functions of SIMD-groups, and of quads (four consecutive lanes). In all functions an inactive
// lane reads as zero.
#pragma once

#include "scalar.h"
#if MB_GPU
#include "gpu/simdgroup.h"
#elif MB_VECTOR
#include "cpu/vector_simdgroup.h"
#else
#include "cpu/fiber_simdgroup.h"
#endif
