// Functions of SIMD-groups, and of quads: every four lanes of one.
// A lane that does not take part reads as zero, whatever the function.
#pragma once

#include "scalar.h"
#if MB_VECTOR
#include "vector_simdgroup.h"
#else
#include "fiber_simdgroup.h"
#endif
