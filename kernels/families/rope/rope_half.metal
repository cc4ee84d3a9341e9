// Rotary positions: columns i and i + dims / 2 of a head are a point. A thread turns four points of
// HEADS heads, which have their directions in common: cosine and sine are computed once, and points
// move as vectors. Angles are right to about one rounding (rope.h): a position multiplies their
// error.
// dispatch: rope_half  threads_in_grid=(ceil_div(dims, 8), tokens, ceil_div(heads, HEADS))  threads=(16, TG / 16, 1)
// tune: TG = 128, 32, 64, 256
// tune: HEADS = 8, 1, 4, 32
// dtypes: float32, float16, bfloat16
#include "metalbench/rope.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void rope_half(device const DTYPE* x, device DTYPE* y, constant uint& heads,
                          constant uint& tokens, constant uint& dims, constant float& base,
                          constant uint& offset, uint3 at [[thread_position_in_grid]]) {
  const ulong pitch = ulong(tokens) * dims;
  const uint first = at.z * HEADS, count = min(uint(HEADS), heads - first);
  const ulong from = first * pitch + at.y * dims;
  if (4 * at.x < dims / 2) {
    rope_halves(x + from, y + from, count, pitch, 4 * at.x, dims / 2, offset + at.y, base);
  }
}
