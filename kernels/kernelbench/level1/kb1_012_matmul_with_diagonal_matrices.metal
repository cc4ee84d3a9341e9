// A diagonal matrix by a matrix: every row times one number.
// dispatch: scale  threads_in_grid=(ceil_div(m, 4), n)  threads=(QUADS, 1)
// tune: QUADS = 64, 32, 128
// dtypes: float32, float16, bfloat16
#include "metalbench/quads.h"
using namespace metalbench;

[[kernel]] void scale(device const DTYPE* a, device const DTYPE* b, device DTYPE* y,
                      constant uint& m, uint2 place [[thread_position_in_grid]]) {
  const ulong row = ulong(place.y) * m;
  store_quad(y + row, 4 * place.x, m, float(a[place.y]) * load_quad(b + row, 4 * place.x, m));
}
