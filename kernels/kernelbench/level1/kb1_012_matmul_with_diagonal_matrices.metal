// A diagonal matrix by a matrix: row r of the result is row r of b times a[r]. A thread has four
// columns of one row.
// dispatch: scale_rows  threads_in_grid=(ceil_div(m, 4), n)  threads=(TG, 1)
// tune: TG = 64, 32, 128, 256
#include "metalbench/quads.h"
using namespace metalbench;

[[kernel]] void scale_rows(device const float* a, device const float* b, device float* y,
                           constant uint& m, uint2 place [[thread_position_in_grid]]) {
  const ulong start = ulong(place.y) * m;
  store_quad(y + start, 4 * place.x, m, a[place.y] * load_quad(b + start, 4 * place.x, m));
}
