// Where values belong in an ascending array, before what equals them: a thread halves the array for
// each value. Steps are as many for all values, without branches, and the first of them read the
// same few elements, which stay in the cache.
// dispatch: searchsorted  threads_in_grid=(values)  threads=(TG)
// tune: TG = 128, 32, 64, 256
// dtypes: float32, float16, bfloat16
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void searchsorted(device const DTYPE* a, device const DTYPE* v, device uint* y,
                             constant uint& n, uint i [[thread_position_in_grid]]) {
  const float value = float(v[i]);
  uint first = 0;
  uint left = n;
  while (left > 1) {
    const uint half_of = left / 2;
    first += float(a[first + half_of - 1]) < value ? half_of : 0;
    left -= half_of;
  }
  y[i] = first + (float(a[first]) < value ? 1 : 0);
}
