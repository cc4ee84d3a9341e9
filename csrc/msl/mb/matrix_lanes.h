// Which lanes of a SIMD-group work on its matrices, and how.
#pragma once

#include "matrix_kernels.h"
#include "vec.h"
#if MB_VECTOR
#include "vector_matrix.h"
#else
#include "fiber_matrix.h"
#endif
