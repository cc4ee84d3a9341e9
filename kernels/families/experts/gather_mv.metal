// Each token times the matrix of its expert, plain weights: a SIMD-group makes ROWS elements of one
// token's result. Each quad of the token that it loads meets ROWS rows of weights, and one sum over
// lanes an element is all that lanes say to each other. Tokens of one expert find its rows in the
// cache.
// dispatch: gather_mv  threadgroups=(ceil_div(features, ROWS * TG / 32), tokens)  threads=(TG)
// tune: TG = 64, 32, 128, 256
// tune: ROWS = 4, 2, 8
// dtypes: float32, float16, bfloat16
#include "metalbench/matvec.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void gather_mv(device const DTYPE* x, device const uint* expert, device const DTYPE* w,
                          device DTYPE* y, constant uint& features, constant uint& inner,
                          uint2 group [[threadgroup_position_in_grid]],
                          uint lane [[thread_index_in_simdgroup]],
                          uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const uint first = (group.x * (TG / 32) + simdgroup) * ROWS;
  if (first >= features) {
    return;
  }
  device const DTYPE* token = x + ulong(group.y) * inner;
  device const DTYPE* matrix = w + ulong(expert[group.y]) * features * inner;
  RowProducts<ROWS> products(first, features, lane);
  products.add(matrix, inner, VectorQuads<DTYPE>{token, inner});
  products.store(y + ulong(group.y) * features);
}
