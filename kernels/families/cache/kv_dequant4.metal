// The rows of a cache of 4 or 8 bits that are filled, as floats: a thread unpacks four neighbouring
// codes and writes them as one vector, so that lanes write whole cache lines. Rows behind those are
// not read; a group's scale and bias come from the cache for all threads that share them.
// dispatch: dequantize  threads_in_grid=(dims / 4, keys, heads)  threads=(32, ROWS, 1)
// instance: q4 BITS = 4
// instance: q8 BITS = 8
// tune: ROWS = 4, 2, 8
// dtypes: float32, float16, bfloat16
// limits: dims % 64 == 0, keys * dims / 4 <= 4294967295
#include "metalbench/quantised.h"
using namespace metalbench;

[[kernel]] void dequantize(device const uint* cache, device const DTYPE* cache_scales,
                           device const DTYPE* cache_biases, device DTYPE* y, constant uint& keys,
                           constant uint& spare, constant uint& dims,
                           uint3 at [[thread_position_in_grid]]) {
  const Weights<WholeNumbers<DTYPE, BITS, 64>> all = {cache, {cache_scales, cache_biases}, dims};
  const Weights<WholeNumbers<DTYPE, BITS, 64>> rows = all.from_row(ulong(at.z) * (keys + spare));
  put_quad(y + ulong(at.z) * keys * dims, at.y * (dims / 4) + at.x, rows.quad(at.y, at.x));
}
