// Elements of the middle axis that an index of the result's shape names: y[o, p, i] = x[o, index[o,
// p, i], i]. A thread an element; lanes have neighbouring columns, so that index and result are
// whole cache lines, and what is gathered lies in as many rows as indices differ.
// dispatch: take_along_axis  threads_in_grid=(inner, picks, outer)  threads=(COLS, ROWS, 1)
// tune: COLS = 32, 16, 64
// tune: ROWS = 4, 1, 8
// dtypes: float32, float16, bfloat16
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void take_along_axis(device const DTYPE* x, device const uint* index, device DTYPE* y,
                                constant uint& along, constant uint& inner, constant uint& picks,
                                uint3 place [[thread_position_in_grid]]) {
  const ulong to = (ulong(place.z) * picks + place.y) * inner + place.x;
  y[to] = x[(ulong(place.z) * along + index[to]) * inner + place.x];
}
