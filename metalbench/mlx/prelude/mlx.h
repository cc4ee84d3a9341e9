// What a source finds without including anything: the names of MLX's own kernel utilities.
#pragma once

#include "casts.h"
#include "complex.h"
#include "indexing.h"
#include "lanes.h"
#include "limits.h"
#include "types.h"

#define MLX_MTL_PRAGMA_UNROLL _Pragma("clang loop unroll(full)")
#define MTL_CONST constant
#define instantiate_kernel(name, func, ...) \
  template [[host_name(name)]] [[kernel]] decltype(func<__VA_ARGS__>) func<__VA_ARGS__>;

static constexpr constant int MAX_REDUCE_SPECIALIZED_DIMS = 4;
static constexpr constant int REDUCE_N_READS = 4;
static constexpr constant int REDUCE_N_WRITES = 4;
static constexpr constant int SOFTMAX_N_READS = 4;
static constexpr constant int RMS_N_READS = 4;
static constexpr constant int RMS_LOOPED_LIMIT = 4096;
